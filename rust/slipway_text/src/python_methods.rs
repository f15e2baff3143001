//! Methods of Python's types that templates call and the Jinja engine does not know.

use minijinja::value::{from_args, Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat::unknown_method_callback;

pub fn python_method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let known = match value.as_str() {
        Some(text) => string_method(text, name, args)?,
        None => sequence_method(value, name, args)?,
    };
    match known {
        Some(result) => Ok(result),
        None => unknown_method_callback(state, value, name, args),
    }
}

fn not_found(what: &Value) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("index: {what} was not found"))
}

fn sequence_method(value: &Value, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    if name != "index" || value.kind() != ValueKind::Seq {
        return Ok(None);
    }
    let (what,): (&Value,) = from_args(args)?;
    let found = value.try_iter()?.position(|item| item == *what);
    found.map(|index| Some(Value::from(index))).ok_or_else(|| not_found(what))
}

fn string_method(text: &str, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let triple = |parts: [&str; 3]| Value::from(Tuple::from(parts.map(Value::from)));
    let result = match name {
        "removeprefix" => {
            let (part,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(part).unwrap_or(text))
        }
        "removesuffix" => {
            let (part,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(part).unwrap_or(text))
        }
        "partition" => {
            let (at,): (&str,) = from_args(args)?;
            text.split_once(at).map_or(triple([text, "", ""]), |(a, b)| triple([a, at, b]))
        }
        "rpartition" => {
            let (at,): (&str,) = from_args(args)?;
            text.rsplit_once(at).map_or(triple(["", "", text]), |(a, b)| triple([a, at, b]))
        }
        "rsplit" => {
            let (at, most): (&str, Option<i64>) = from_args(args)?;
            let mut parts: Vec<&str> = match most {
                Some(most) if most >= 0 => text.rsplitn(most as usize + 1, at).collect(),
                _ => text.rsplit(at).collect(),
            };
            parts.reverse();
            parts.into_iter().map(Value::from).collect()
        }
        "index" => {
            let (what,): (&Value,) = from_args(args)?;
            let at = what.as_str().and_then(|part| text.find(part)).ok_or_else(|| not_found(what))?;
            Value::from(text[..at].chars().count())
        }
        "zfill" => {
            let (width,): (usize,) = from_args(args)?;
            let (sign, digits) = match text.strip_prefix(['-', '+']) {
                Some(rest) => (&text[..1], rest),
                None => ("", text),
            };
            if width > 1000 {
                return Err(Error::new(ErrorKind::InvalidOperation, "zfill: need a width up to 1000"));
            }
            let zeros = width.saturating_sub(text.chars().count());
            Value::from(format!("{sign}{}{digits}", "0".repeat(zeros)))
        }
        "swapcase" => {
            let () = from_args(args)?;
            let swapped = text.chars().flat_map(|c| match c.is_uppercase() {
                true => c.to_lowercase().collect::<Vec<_>>(),
                false => c.to_uppercase().collect::<Vec<_>>(),
            });
            Value::from(swapped.collect::<String>())
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}
