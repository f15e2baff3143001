//! What every entry point shares: text in and out, errors per thread, panics that stop here.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;
pub type Outcome<T> = Result<T, Failure>;

thread_local! {
    static ERROR: RefCell<String> = const { RefCell::new(String::new()) };
    static INSIDE: RefCell<bool> = const { RefCell::new(false) };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    data: *const u8,
    size: usize,
}

#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
}

impl Str {
    /// The caller promises `size` readable bytes at `data`; that they are UTF-8 is checked.
    pub unsafe fn text<'a>(self, what: &str) -> Outcome<&'a str> {
        if self.size == 0 {
            return Ok("");
        }
        let bytes = std::slice::from_raw_parts(self.data, self.size);
        std::str::from_utf8(bytes)
            .map_err(|e| format!("{what} is not UTF-8 from byte {} on", e.valid_up_to()).into())
    }
}

impl Bytes {
    pub fn new(text: String) -> Bytes {
        let boxed = text.into_bytes().into_boxed_slice();
        let size = boxed.len();
        Bytes { data: Box::into_raw(boxed) as *mut u8, size }
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("the text library stopped: {}", text.unwrap_or_else(|| "no reason given".into()))
}

/// Panics inside a call become its error; the message that Rust would print is kept for others.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !INSIDE.with(|inside| *inside.borrow()) {
                before(info);
            }
        }));
    });
}

pub fn set_error(error: impl Display) {
    ERROR.with(|slot| *slot.borrow_mut() = error.to_string());
}

/// Runs an entry point's body; a failure or a panic gives None and leaves its reason for the caller.
pub fn guard<T>(body: impl FnOnce() -> Outcome<T>) -> Option<T> {
    quiet_panics();
    INSIDE.with(|inside| *inside.borrow_mut() = true);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    INSIDE.with(|inside| *inside.borrow_mut() = false);
    match outcome {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => set_error(error),
        Err(payload) => set_error(panic_text(payload.as_ref())),
    }
    None
}

/// `guard` for calls that give a new handle.
pub fn guard_handle<T>(body: impl FnOnce() -> Outcome<T>) -> *mut T {
    guard(body).map_or(std::ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

/// `guard` for calls that give text.
pub unsafe fn guard_text(out: *mut Bytes, body: impl FnOnce() -> Outcome<String>) -> bool {
    match guard(body) {
        Some(text) => {
            out.write(Bytes::new(text));
            true
        }
        None => false,
    }
}

pub unsafe fn drop_handle<T>(handle: *mut T) {
    if !handle.is_null() {
        guard(|| {
            drop(Box::from_raw(handle));
            Ok(())
        });
    }
}

#[no_mangle]
pub extern "C" fn slipway_text_error() -> Str {
    ERROR.with(|slot| {
        let text = slot.borrow();
        Str { data: text.as_ptr(), size: text.len() }
    })
}

#[no_mangle]
pub unsafe extern "C" fn slipway_bytes_free(bytes: Bytes) {
    if !bytes.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes.data, bytes.size)));
    }
}
