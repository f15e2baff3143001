//! The `tojson` filter of chat templates: text as Python's json module writes it, nothing escaped for HTML.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

struct Style {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn style(args: &[Value], kwargs: &Kwargs) -> Result<Style, Error> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    if args.len() > names.len() {
        return Err(refuse(format!("tojson takes at most {} arguments", names.len())));
    }
    let argument = |position: usize| -> Result<Option<Value>, Error> {
        let given = match args.get(position) {
            Some(value) => Some(value.clone()),
            None => kwargs.get::<Option<Value>>(names[position])?,
        };
        Ok(given.filter(|value| !value.is_none() && !value.is_undefined()))
    };
    let indent = match argument(1)? {
        None => None,
        Some(value) => Some(match (value.as_str(), value.as_i64()) {
            (Some(text), _) => text.to_string(),
            (None, Some(width)) => " ".repeat(width.clamp(0, 64) as usize),
            (None, None) => return Err(refuse(format!("tojson got indent {value}, need a number"))),
        }),
    };
    let (mut item, key) = (", ".to_string(), ": ".to_string());
    if indent.is_some() {
        item = ",".to_string();
    }
    let (item_separator, key_separator) = match argument(2)? {
        None => (item, key),
        Some(pair) => {
            let parts: Vec<Value> = pair.try_iter()?.collect();
            match parts.iter().map(|part| part.as_str()).collect::<Option<Vec<_>>>().as_deref() {
                Some([item, key]) => (item.to_string(), key.to_string()),
                _ => return Err(refuse("tojson needs two strings as separators".into())),
            }
        }
    };
    let flag = |position| Ok::<bool, Error>(argument(position)?.is_some_and(|value| value.is_true()));
    let style = Style { ensure_ascii: flag(0)?, indent, item_separator, key_separator, sort_keys: flag(3)? };
    kwargs.assert_all_used()?;
    Ok(style)
}

pub fn tojson(value: &Value, args: &[Value], kwargs: &Kwargs) -> Result<String, Error> {
    let mut out = String::new();
    write_value(&mut out, value, &style(args, kwargs)?, 0)?;
    Ok(out)
}

fn write_value(out: &mut String, value: &Value, style: &Style, depth: usize) -> Result<(), Error> {
    if depth > 200 {
        return Err(refuse("tojson got a value that is nested more than 200 deep".into()));
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number_text(value)),
        ValueKind::String => write_string(out, value.as_str().unwrap_or(""), style.ensure_ascii),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            write_all(out, &items, style, depth, ('[', ']'), |out, item| {
                write_value(out, item, style, depth + 1)
            })?;
        }
        ValueKind::Map => {
            let mut pairs = Vec::new();
            for key in value.try_iter()? {
                let item = value.get_item(&key)?;
                pairs.push((key_text(&key)?, item));
            }
            if style.sort_keys {
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
            }
            write_all(out, &pairs, style, depth, ('{', '}'), |out, (key, item)| {
                write_string(out, key, style.ensure_ascii);
                out.push_str(&style.key_separator);
                write_value(out, item, style, depth + 1)
            })?;
        }
        kind => return Err(refuse(format!("tojson cannot write a value of type {kind}"))),
    }
    Ok(())
}

fn write_all<T>(
    out: &mut String,
    items: &[T],
    style: &Style,
    depth: usize,
    brackets: (char, char),
    mut write: impl FnMut(&mut String, &T) -> Result<(), Error>,
) -> Result<(), Error> {
    out.push(brackets.0);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(&style.item_separator);
        }
        new_line(out, style, depth + 1);
        write(out, item)?;
    }
    if !items.is_empty() {
        new_line(out, style, depth);
    }
    out.push(brackets.1);
    Ok(())
}

fn new_line(out: &mut String, style: &Style, depth: usize) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or("").to_string()),
        ValueKind::None => Ok("null".into()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.into()),
        ValueKind::Number => Ok(number_text(key)),
        kind => Err(refuse(format!("tojson got a key of type {kind}, need a string"))),
    }
}

fn number_text(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(number) => float_text(number),
        Err(_) => value.to_string(),
    }
}

/// The shortest digits that read back equal, in Python's choice of notation.
pub fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{number}");
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

fn write_string(out: &mut String, text: &str, ensure_ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if ensure_ascii && !c.is_ascii() => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
