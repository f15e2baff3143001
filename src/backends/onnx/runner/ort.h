// The ONNX Runtime C++ API, bound when the library is opened at run time rather than when we link.
#pragma once

#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>
#undef ORT_API_MANUAL_INIT
