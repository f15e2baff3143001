import sys, json, pathlib, shutil, subprocess, tempfile, time
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import numpy as np, openvino as ov, openvino_tokenizers
from made_tokenizers import KINDS
from tokenizer_texts import CORPUS, WITH_TOKENS
ROOT = pathlib.Path(__file__).resolve().parents[2]
core = ov.Core()
def texts_for(t):
    sp=[tok.content for tok in t.get_added_tokens_decoder().values() if tok.special][:8] or ["<x>"]
    sp=[sp[0],sp[1%len(sp)],sp[-1]]
    return CORPUS+[w.format(*sp) for w in WITH_TOKENS]
def main():
    slipway=sys.argv[1]; names=sys.argv[2:] or KINDS
    for name in names:
        tmp=pathlib.Path("/tmp/tokw/made")/name; shutil.rmtree(tmp,ignore_errors=True); 
        base = "bert-base" if name in ("bert","bert_cased") else "llama-causal-lm"
        shutil.copytree(ROOT/"tests/golden/models"/base, tmp)
        t,cfg=KINDS[name](); t.save(str(tmp/"tokenizer.json")); (tmp/"tokenizer_config.json").write_text(json.dumps(cfg))
        out=pathlib.Path("/tmp/tokw/out")/name; shutil.rmtree(out,ignore_errors=True)
        r=subprocess.run([slipway,"export",tmp,out,"--layout","openvino-genai","--no-validate"],capture_output=True,text=True)
        if r.returncode or r.stderr: print(name, r.stderr, r.stdout)
        if not (out/"openvino_tokenizer.xml").exists(): continue
        compare(name,t,out)
def compare(name,t,out):
    enc=core.compile_model(out/"openvino_tokenizer.xml","CPU"); dec=core.compile_model(out/"openvino_detokenizer.xml","CPU")
    bad=0; badd=0
    for x in texts_for(t):
        want=t.encode(x).ids
        try: got=enc(np.array([x]))["input_ids"][0].tolist()
        except Exception as e: got=str(e)[-300:]
        if got!=want:
            bad+=1
            if bad<=8: print(f"  {name} enc {x[:50]!r}\n     want {[t.id_to_token(i) for i in want][:30]}\n     got  {[t.id_to_token(i) for i in got][:30] if isinstance(got,list) else got}")
        if want:
            wt=t.decode(want); 
            gt=dec(np.array([want],dtype=np.int64))["string_output"][0]
            if wt!=gt:
                badd+=1
                if badd<=4: print(f"  {name} dec {wt[:60]!r}\n      got {gt[:60]!r}")
    print(name, "encode bad", bad, "decode bad", badd, "of", len(texts_for(t)))
main()
