// The kernels that ExecuTorch's release libraries register, without their out arguments: aten, l to
// z; dim order; quantized.
#include "backends/executorch/kernels.h"
#include "lowering/infer.h"

namespace slipway::executorch {
namespace {

using namespace lowering;  // types of ops that convert nothing; null where the emitter states them

const OpRow kRows[] = {
    {"et::le.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::le.Tensor_out(Tensor self, Tensor other) -> Tensor", two_to_bool},
    {"et::leaky_relu.out(Tensor self, Scalar negative_slope=0.01) -> Tensor", self},
    {"et::lift_fresh_copy.out(Tensor self) -> Tensor", nullptr},
    {"et::linear.out(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", nullptr},
    {"et::log.out(Tensor self) -> Tensor", self},
    {"et::log10.out(Tensor self) -> Tensor", self},
    {"et::log1p.out(Tensor self) -> Tensor", self},
    {"et::log2.out(Tensor self) -> Tensor", self},
    {"et::logical_and.out(Tensor self, Tensor other) -> Tensor", two_to_bool, nullptr, nullptr,
     kCommutes},
    {"et::logical_not.out(Tensor self) -> Tensor", self_to_bool},
    {"et::logical_or.out(Tensor self, Tensor other) -> Tensor", two_to_bool, nullptr, nullptr,
     kCommutes},
    {"et::logical_xor.out(Tensor self, Tensor other) -> Tensor", two_to_bool, nullptr, nullptr,
     kCommutes},
    {"et::logit.out(Tensor self, float? eps=None) -> Tensor", nullptr},
    {"et::lt.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::lt.Tensor_out(Tensor self, Tensor other) -> Tensor", two_to_bool},
    {"et::masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value) -> Tensor", self},
    {"et::masked_scatter.out(Tensor self, Tensor mask, Tensor source) -> Tensor", nullptr},
    {"et::masked_select.out(Tensor self, Tensor mask) -> Tensor", nullptr},
    {"et::max.dim_max(Tensor self, int dim, bool keepdim=False) -> (Tensor max, Tensor max_values)",
     nullptr},
    {"et::max.unary_out(Tensor self) -> Tensor", nullptr},
    {"et::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
     "padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor out, Tensor indices)",
     nullptr},
    {"et::max_pool2d_with_indices_backward.grad_input(Tensor grad_output, Tensor self, int[2] "
     "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor "
     "indices) -> Tensor",
     nullptr},
    {"et::maximum.out(Tensor self, Tensor other) -> Tensor", two, nullptr, nullptr, kCommutes},
    {"et::mean.dtype_out(Tensor self, *, ScalarType? dtype=None) -> Tensor", nullptr},
    {"et::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     nullptr},
    {"et::min.dim_min(Tensor self, int dim, bool keepdim=False) -> (Tensor min, Tensor "
     "min_indices)",
     nullptr},
    {"et::min.unary_out(Tensor self) -> Tensor", nullptr},
    {"et::minimum.out(Tensor self, Tensor other) -> Tensor", two, nullptr, nullptr, kCommutes},
    {"et::mm.out(Tensor self, Tensor mat2) -> Tensor", nullptr},
    {"et::mul.Scalar_out(Tensor self, Scalar other) -> Tensor", self},
    {"et::mul.out(Tensor self, Tensor other) -> Tensor", two, nullptr, nullptr, kCommutes},
    {"et::narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", nullptr},
    {"et::native_dropout.out(Tensor input, float p, bool? train) -> (Tensor out0, Tensor out1)",
     nullptr},
    {"et::native_group_norm.out(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
     "SymInt HxW, int group, float eps) -> (Tensor out0, Tensor out1, Tensor out2)",
     nullptr},
    {"et::native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
     "bias, float eps) -> (Tensor out0, Tensor out1, Tensor out2)",
     nullptr},
    {"et::ne.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::ne.Tensor_out(Tensor self, Tensor other) -> Tensor", two_to_bool, nullptr, nullptr,
     kCommutes},
    {"et::neg.out(Tensor self) -> Tensor", self},
    {"et::nonzero.out(Tensor self) -> Tensor", nullptr},
    {"et::ones.out(SymInt[] size) -> Tensor", nullptr},
    {"et::permute_copy.out(Tensor self, int[] dims) -> Tensor", nullptr},
    {"et::pixel_shuffle.out(Tensor self, int upscale_factor) -> Tensor", nullptr},
    {"et::pixel_unshuffle.out(Tensor self, int downscale_factor) -> Tensor", nullptr},
    {"et::pow.Scalar_out(Scalar self, Tensor exponent) -> Tensor", nullptr},
    {"et::pow.Tensor_Scalar_out(Tensor self, Scalar exponent) -> Tensor", self},
    {"et::pow.Tensor_Tensor_out(Tensor self, Tensor exponent) -> Tensor", two},
    {"et::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     nullptr},
    {"et::prod.out(Tensor self, *, ScalarType? dtype=None) -> Tensor", nullptr},
    {"et::rand.out(SymInt[] size) -> Tensor", nullptr},
    {"et::randn.out(SymInt[] size) -> Tensor", nullptr},
    {"et::reciprocal.out(Tensor self) -> Tensor", self},
    {"et::reflection_pad1d.out(Tensor self, SymInt[2] padding) -> Tensor", nullptr},
    {"et::reflection_pad2d.out(Tensor self, SymInt[4] padding) -> Tensor", nullptr},
    {"et::reflection_pad3d.out(Tensor self, SymInt[6] padding) -> Tensor", nullptr},
    {"et::relu.out(Tensor self) -> Tensor", self},
    {"et::remainder.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::remainder.Tensor_out(Tensor self, Tensor other) -> Tensor", two},
    {"et::repeat.out(Tensor self, SymInt[] repeats) -> Tensor", nullptr},
    {"et::repeat_interleave.Tensor_out(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
     nullptr},
    {"et::replication_pad1d.out(Tensor self, SymInt[2] padding) -> Tensor", nullptr},
    {"et::replication_pad2d.out(Tensor self, SymInt[4] padding) -> Tensor", nullptr},
    {"et::replication_pad3d.out(Tensor self, SymInt[6] padding) -> Tensor", nullptr},
    {"et::roll.out(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", nullptr},
    {"et::round.out(Tensor self) -> Tensor", self},
    {"et::rsqrt.out(Tensor self) -> Tensor", self},
    {"et::rsub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", nullptr},
    {"et::scalar_tensor.out(Scalar s) -> Tensor", nullptr},
    {"et::scatter.src_out(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", self},
    {"et::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", self},
    {"et::scatter_add.out(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", self},
    {"et::select_copy.int_out(Tensor self, int dim, SymInt index) -> Tensor", nullptr},
    {"et::select_scatter.out(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", self},
    {"et::sigmoid.out(Tensor self) -> Tensor", self},
    {"et::sign.out(Tensor self) -> Tensor", self},
    {"et::sin.out(Tensor self) -> Tensor", self},
    {"et::sinh.out(Tensor self) -> Tensor", self},
    {"et::slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, "
     "SymInt step=1) -> Tensor",
     nullptr},
    {"et::slice_scatter.out(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
     "end=None, SymInt step=1) -> Tensor",
     self},
    {"et::split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", nullptr},
    {"et::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
     nullptr},
    {"et::sqrt.out(Tensor self) -> Tensor", self},
    {"et::squeeze_copy.dim_out(Tensor self, int dim) -> Tensor", nullptr},
    {"et::squeeze_copy.dims_out(Tensor self, int[] dim) -> Tensor", nullptr},
    {"et::stack.out(Tensor[] tensors, int dim=0) -> Tensor", nullptr},
    {"et::sub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", self},
    {"et::sub.out(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", two},
    {"et::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     nullptr},
    {"et::t_copy.out(Tensor self) -> Tensor", nullptr},
    {"et::tan.out(Tensor self) -> Tensor", self},
    {"et::tanh.out(Tensor self) -> Tensor", self},
    {"et::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
     "(Tensor values, Tensor indices)",
     nullptr},
    {"et::transpose_copy.int_out(Tensor self, int dim0, int dim1) -> Tensor", nullptr},
    {"et::tril.out(Tensor self, SymInt diagonal=0) -> Tensor", self},
    {"et::trunc.out(Tensor self) -> Tensor", self},
    {"et::unbind_copy.int_out(Tensor self, int dim=0) -> Tensor[]", nullptr},
    {"et::unfold_copy.out(Tensor self, int dimension, int size, int step) -> Tensor", nullptr},
    {"et::unsqueeze_copy.out(Tensor self, int dim) -> Tensor", nullptr},
    {"et::upsample_bilinear2d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     nullptr},
    {"et::upsample_nearest2d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors) "
     "-> Tensor",
     nullptr},
    {"et::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> Tensor",
     nullptr},
    {"et::var.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     nullptr},
    {"et::var_mean.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> (Tensor out0, Tensor out1)",
     nullptr},
    {"et::view_as_real_copy.out(Tensor self) -> Tensor", nullptr},
    {"et::view_copy.out(Tensor self, SymInt[] size) -> Tensor", nullptr},
    {"et::where.self_out(Tensor condition, Tensor self, Tensor other) -> Tensor", choice},
    {"et::zeros.out(SymInt[] size) -> Tensor", nullptr},
    {"et_device::_d2h_copy.out(Tensor self) -> Tensor", nullptr},
    {"et_device::_h2d_copy.out(Tensor self) -> Tensor", nullptr},
    {"et_dim_order::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, int[]? "
     "dim_order=None) -> Tensor",
     nullptr},
    {"et_dim_order::_empty_dim_order.out(int[] size, *, int[]? dim_order=None) -> Tensor", nullptr},
    {"et_dim_order::_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, int[]? "
     "dim_order=None) -> Tensor",
     nullptr},
    {"et_quantized::add.out(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int "
     "a_quant_max, Tensor b, float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, "
     "float out_scale, int out_zero_point, int out_quant_min, int out_quant_max) -> Tensor",
     nullptr},
    {"et_quantized::choose_qparams.Tensor_out(Tensor input, int quant_min, int quant_max, float "
     "eps, ScalarType dtype) -> (Tensor scale_out, Tensor zero_point_out)",
     nullptr},
    {"et_quantized::choose_qparams_per_token_asymmetric.out(Tensor input, ScalarType dtype) -> "
     "(Tensor scale_out, Tensor zero_point_out)",
     nullptr},
    {"et_quantized::dequantize_per_channel.out(Tensor input, Tensor scales, Tensor? zero_points, "
     "int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> "
     "Tensor",
     nullptr},
    {"et_quantized::dequantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor "
     "zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) "
     "-> Tensor",
     nullptr},
    {"et_quantized::dequantize_per_tensor.out(Tensor input, float scale, int zero_point, int "
     "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     nullptr},
    {"et_quantized::dequantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int "
     "quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor",
     nullptr},
    {"et_quantized::embedding_2bit.dtype_out(Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, ScalarType? "
     "dtype=None) -> Tensor",
     nullptr},
    {"et_quantized::embedding_2bit.out(Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     nullptr},
    {"et_quantized::embedding_4bit.dtype_out(Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, ScalarType? "
     "dtype=None) -> Tensor",
     nullptr},
    {"et_quantized::embedding_4bit.out(Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     nullptr},
    {"et_quantized::embedding_byte.dtype_out(Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, "
     "ScalarType? dtype=None) -> Tensor",
     nullptr},
    {"et_quantized::embedding_byte.out(Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     nullptr},
    {"et_quantized::mixed_linear.out(Tensor input, Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, ScalarType? dtype=None) -> Tensor",
     nullptr},
    {"et_quantized::mixed_mm.out(Tensor input, Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points) -> Tensor",
     nullptr},
    {"et_quantized::quantize_per_channel.out(Tensor input, Tensor scales, Tensor zero_points, int "
     "axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     nullptr},
    {"et_quantized::quantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor zero_point, "
     "int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     nullptr},
    {"et_quantized::quantize_per_tensor.out(Tensor input, float scale, int zero_point, int "
     "quant_min, int quant_max, ScalarType dtype) -> Tensor",
     nullptr},
    {"et_quantized::quantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int "
     "quant_min, int quant_max, ScalarType dtype) -> Tensor",
     nullptr},
};

}  // namespace

std::span<const OpRow> kernels_l_to_z() { return kRows; }

}  // namespace slipway::executorch
