//! Chat templates with the Jinja dialect that the reference gives them: blocks trimmed, loop controls,
//! Python's methods, `raise_exception`, `strftime_now`, its own `tojson`, `{% generation %}` ignored.

use crate::ffi::Outcome;
use crate::json_text::{float_text, tojson};
use crate::python_methods::python_method;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, Serde, Value, ValueKind};
use minijinja::{escape_formatter, AutoEscape, Environment, Error, ErrorKind};
use std::ffi::CString;

/// Templates come with checkpoints: a hostile one ends with an error after a second, before it has made
/// more than 320 MB of text (one unit per step and per 64 bytes).
const FUEL: u64 = 5_000_000;
const NAME: &str = "chat template";

pub struct Template {
    environment: Environment<'static>,
}

impl Template {
    pub fn parse(source: &str) -> Outcome<Template> {
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(FUEL));
        environment.set_formatter(|out, state, value| match f64::try_from(value.clone()) {
            Ok(number) if number.is_finite() && value.is_number() && !value.is_integer() => {
                Ok(out.write_str(&float_text(number))?)
            }
            _ => escape_formatter(out, state, value),
        });
        environment.set_unknown_method_callback(python_method);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_function("joiner", minijinja_contrib::globals::joiner);
        environment.add_filter("tojson", |value: Value, args: Rest<Value>, kwargs: Kwargs| {
            tojson(&value, &args, &kwargs)
        });
        environment.add_test("sequence", |value: Value| is_container(&value));
        environment
            .add_test("iterable", |value: Value| is_container(&value) || value.kind() == ValueKind::Iterable);
        environment.add_template_owned(NAME, without_generation_tags(source)).map_err(explain)?;
        Ok(Template { environment })
    }

    pub fn render(&self, variables: &str) -> Outcome<String> {
        let variables: serde_json::Value = serde_json::from_str(variables)?;
        let template = self.environment.get_template(NAME)?;
        template.render(Value::from(Serde(variables))).map_err(explain)
    }
}

/// What has a length and items in Python; its undefined value counts too.
fn is_container(value: &Value) -> bool {
    use ValueKind::{Map, Seq, String, Undefined};
    matches!(value.kind(), String | Seq | Map | Undefined)
}

/// The message of the error and of its causes, on one line.
fn explain(error: Error) -> crate::ffi::Failure {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text.into()
}

fn raise_exception(message: String) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Local time in the C library's format language, which is Python's.
fn strftime_now(format: String) -> Result<String, Error> {
    let refuse = |what: &str| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {what}"));
    if format.is_empty() {
        return Ok(format);
    }
    let format = CString::new(format).map_err(|_| refuse("the format holds a NUL byte"))?;
    let mut text = vec![0u8; 1024];
    let size = unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&now, &mut parts).is_null() {
            return Err(refuse("the system's clock has no local time"));
        }
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &parts)
    };
    if size == 0 {
        return Err(refuse("the result is empty or longer than 1023 bytes"));
    }
    text.truncate(size);
    String::from_utf8(text).map_err(|_| refuse("the result is not UTF-8"))
}

/// Turns `{% generation %}` blocks, which only mark the assistant's tokens for training, into blocks
/// that always run: the whitespace control of their tags keeps its meaning.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = tag.find("%}") else {
            rest = tag;
            break;
        };
        let inner = &tag[2..end];
        let word = inner.trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim();
        match word {
            "generation" => out.push_str(&format!("{{%{}%}}", inner.replacen(word, "if true", 1))),
            "endgeneration" => out.push_str(&format!("{{%{}%}}", inner.replacen(word, "endif", 1))),
            _ => {
                // Only the opening: what follows may be a string that holds "%}".
                out.push_str("{%");
                rest = &tag[2..];
                continue;
            }
        }
        rest = &tag[end + 2..];
    }
    out.push_str(rest);
    out
}
