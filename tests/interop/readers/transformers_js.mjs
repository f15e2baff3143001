// transformers.js as a reader of directories: node transformers_js.mjs NODE_MODULES JOBS.json, answers on standard output.
//
// A job is {"directory", "rows", "new_tokens", "through_end"} and gives {"tokens"}, the new ids of each row;
// {"directory", "texts"} gives {"ids"}; {"directory", "sentences"} gives {"embeddings"}, mean pooling, unit length. What
// fails gives {"error"}.
import fs from 'fs';
import path from 'path';
import { pathToFileURL } from 'url';

const [modules, jobs] = process.argv.slice(2).map((name) => path.resolve(name));
const library = path.join(modules, '@huggingface/transformers/dist/transformers.node.mjs');
const { AutoModelForCausalLM, AutoTokenizer, Tensor, env, pipeline } = await import(pathToFileURL(library));
env.allowRemoteModels = false;

const ints = (values) => new Tensor('int64', BigInt64Array.from(values.map(BigInt)), [1, values.length]);

async function generate(job, name) {
  const model = await AutoModelForCausalLM.from_pretrained(name);
  const tokens = [];
  for (const row of job.rows) {
    const made = await model.generate({
      inputs: ints(row), attention_mask: ints(row.map(() => 1)), do_sample: false, max_new_tokens: job.new_tokens,
      ...(job.through_end ? { min_new_tokens: job.new_tokens } : {}),
    });
    tokens.push(made.tolist()[0].slice(row.length).map(Number));
  }
  return { tokens };
}

async function answer(job) {
  // The library looks a name up below a folder.
  env.localModelPath = path.dirname(job.directory) + path.sep;
  const name = path.basename(job.directory);
  try {
    if (job.rows) return await generate(job, name);
    if (job.sentences) {
      const extract = await pipeline('feature-extraction', name);
      return { embeddings: (await extract(job.sentences, { pooling: 'mean', normalize: true })).tolist() };
    }
    const tokenizer = await AutoTokenizer.from_pretrained(name);
    return { ids: job.texts.map((text) => tokenizer.encode(text)) };
  } catch (error) { // whatever the tool refuses is the answer
    return { error: String(error) };
  }
}

const answers = [];
for (const job of JSON.parse(fs.readFileSync(jobs, 'utf-8'))) answers.push(await answer(job));
console.log(JSON.stringify(answers));
