//! Entry points for chat templates.

use crate::ffi::{drop_handle, guard_handle, guard_text, Bytes, Str};
use crate::template::Template;

#[no_mangle]
pub unsafe extern "C" fn slipway_template_new(source: Str) -> *mut Template {
    guard_handle(|| Template::parse(source.text("the chat template")?))
}

#[no_mangle]
pub unsafe extern "C" fn slipway_template_render(
    template: *const Template,
    variables: Str,
    text: *mut Bytes,
) -> bool {
    guard_text(text, || (*template).render(variables.text("a template variable")?))
}

#[no_mangle]
pub unsafe extern "C" fn slipway_template_free(template: *mut Template) {
    drop_handle(template)
}
