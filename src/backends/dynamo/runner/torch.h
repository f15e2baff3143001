// The parts of libtorch that the runner uses: tensors, boxed values and the dispatcher.
#pragma once

// Costs seconds a file to compile: only the .cpp files of this folder that need it include it, and
// nothing outside. Never in one file with ExecuTorch's headers, which have a c10 of their own.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
