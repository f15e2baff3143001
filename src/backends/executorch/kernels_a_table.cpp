// The kernels that ExecuTorch's release libraries register, without their out arguments: aten, _ to
// k.
#include "backends/executorch/kernels.h"
#include "lowering/infer.h"

namespace slipway::executorch {
namespace {

using namespace lowering;  // types of ops that convert nothing; null where the emitter states them

const OpRow kRows[] = {
    {"et::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size) -> Tensor", nullptr},
    {"et::_cdist_forward.out(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", nullptr},
    {"et::_conj_physical.out(Tensor self) -> Tensor", nullptr},
    {"et::_fft_c2r.out(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     nullptr},
    {"et::_fft_r2c.out(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     nullptr},
    {"et::_log_softmax.out(Tensor self, int dim, bool half_to_float) -> Tensor", self},
    {"et::_native_batch_norm_legit.no_stats_out(Tensor input, Tensor? weight, Tensor? bias, bool "
     "training, float momentum, float eps) -> (Tensor out, Tensor save_mean, Tensor save_invstd)",
     nullptr},
    {"et::_native_batch_norm_legit.out(Tensor input, Tensor? weight, Tensor? bias, Tensor "
     "running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor out, "
     "Tensor save_mean, Tensor save_invstd)",
     nullptr},
    {"et::_native_batch_norm_legit_no_training.out(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor out0, Tensor "
     "out1, Tensor out2)",
     nullptr},
    {"et::_pdist_forward.out(Tensor self, float p=2.0) -> Tensor", nullptr},
    {"et::_softmax.out(Tensor self, int dim, bool half_to_float) -> Tensor", self},
    {"et::_to_copy.out(Tensor self, *, bool non_blocking=False, MemoryFormat? memory_format=None) "
     "-> Tensor",
     nullptr},
    {"et::_upsample_bilinear2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, "
     "float? scales_h=None, float? scales_w=None) -> Tensor",
     nullptr},
    {"et::abs.out(Tensor self) -> Tensor", self},
    {"et::acos.out(Tensor self) -> Tensor", self},
    {"et::acosh.out(Tensor self) -> Tensor", self},
    {"et::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", self},
    {"et::add.out(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", two, nullptr, nullptr,
     kCommutes},
    {"et::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     nullptr},
    {"et::alias_copy.out(Tensor self) -> Tensor", self},
    {"et::amax.out(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", nullptr},
    {"et::amin.out(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", nullptr},
    {"et::any.all_out(Tensor self) -> Tensor", nullptr},
    {"et::any.dims_out(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", nullptr},
    {"et::any.out(Tensor self, int dim, bool keepdim=False) -> Tensor", nullptr},
    {"et::arange.out(Scalar end) -> Tensor", nullptr},
    {"et::arange.start_out(Scalar start, Scalar end, Scalar step=1) -> Tensor", nullptr},
    {"et::argmax.out(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", nullptr},
    {"et::argmin.out(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", nullptr},
    {"et::as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     nullptr},
    {"et::asin.out(Tensor self) -> Tensor", self},
    {"et::asinh.out(Tensor self) -> Tensor", self},
    {"et::atan.out(Tensor self) -> Tensor", self},
    {"et::atan2.out(Tensor self, Tensor other) -> Tensor", two},
    {"et::atanh.out(Tensor self) -> Tensor", self},
    {"et::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     nullptr},
    {"et::bitwise_and.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::bitwise_and.Tensor_out(Tensor self, Tensor other) -> Tensor", two, nullptr, nullptr,
     kCommutes},
    {"et::bitwise_left_shift.Tensor_Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::bitwise_left_shift.Tensor_out(Tensor self, Tensor other) -> Tensor", nullptr},
    {"et::bitwise_not.out(Tensor self) -> Tensor", self},
    {"et::bitwise_or.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::bitwise_or.Tensor_out(Tensor self, Tensor other) -> Tensor", two, nullptr, nullptr,
     kCommutes},
    {"et::bitwise_right_shift.Tensor_Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::bitwise_right_shift.Tensor_out(Tensor self, Tensor other) -> Tensor", nullptr},
    {"et::bitwise_xor.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::bitwise_xor.Tensor_out(Tensor self, Tensor other) -> Tensor", two, nullptr, nullptr,
     kCommutes},
    {"et::bmm.out(Tensor self, Tensor mat2) -> Tensor", nullptr},
    {"et::cat.out(Tensor[] tensors, int dim=0) -> Tensor", nullptr},
    {"et::ceil.out(Tensor self) -> Tensor", self},
    {"et::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", nullptr},
    {"et::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", self},
    {"et::clone.out(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", self},
    {"et::constant_pad_nd.out(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", nullptr},
    {"et::convolution.out(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
     "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> "
     "Tensor",
     nullptr},
    {"et::convolution_backward.out(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
     "bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
     "output_padding, SymInt groups, bool[3] output_mask) -> (Tensor out0, Tensor out1, Tensor "
     "out2)",
     nullptr},
    {"et::copy.out(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", self},
    {"et::copy_(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", self},
    {"et::cos.out(Tensor self) -> Tensor", self},
    {"et::cosh.out(Tensor self) -> Tensor", self},
    {"et::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", self},
    {"et::detach_copy.out(Tensor self) -> Tensor", nullptr},
    {"et::diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", nullptr},
    {"et::div.Scalar_mode_out(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
     nullptr},
    {"et::div.Scalar_out(Tensor self, Scalar other) -> Tensor", self},
    {"et::div.out(Tensor self, Tensor other) -> Tensor", two},
    {"et::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", two},
    {"et::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     self},
    {"et::embedding.out(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     nullptr},
    {"et::empty.out(SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", nullptr},
    {"et::eq.Scalar_out(Tensor self, Scalar other) -> Tensor", self_to_bool},
    {"et::eq.Tensor_out(Tensor self, Tensor other) -> Tensor", two_to_bool, nullptr, nullptr,
     kCommutes},
    {"et::erf.out(Tensor self) -> Tensor", self},
    {"et::exp.out(Tensor self) -> Tensor", self},
    {"et::expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", nullptr},
    {"et::expm1.out(Tensor self) -> Tensor", self},
    {"et::fill.Scalar_out(Tensor self, Scalar value) -> Tensor", self},
    {"et::fill.Tensor_out(Tensor self, Tensor value) -> Tensor", nullptr},
    {"et::flip.out(Tensor self, int[] dims) -> Tensor", self},
    {"et::floor.out(Tensor self) -> Tensor", self},
    {"et::floor_divide.out(Tensor self, Tensor other) -> Tensor", two},
    {"et::fmod.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::fmod.Tensor_out(Tensor self, Tensor other) -> Tensor", two},
    {"et::full.out(SymInt[] size, Scalar fill_value) -> Tensor", nullptr},
    {"et::full_like.out(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None) -> "
     "Tensor",
     nullptr},
    {"et::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     nullptr},
    {"et::ge.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::ge.Tensor_out(Tensor self, Tensor other) -> Tensor", two_to_bool},
    {"et::gelu.out(Tensor self, *, str approximate='none') -> Tensor", self},
    {"et::glu.out(Tensor self, int dim=-1) -> Tensor", nullptr},
    {"et::grid_sampler_2d.out(Tensor input, Tensor grid, int interpolation_mode, int "
     "padding_mode, bool align_corners) -> Tensor",
     nullptr},
    {"et::gt.Scalar_out(Tensor self, Scalar other) -> Tensor", nullptr},
    {"et::gt.Tensor_out(Tensor self, Tensor other) -> Tensor", two_to_bool},
    {"et::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", self},
    {"et::index.Tensor_out(Tensor self, Tensor?[] indices) -> Tensor", nullptr},
    {"et::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
     "Tensor",
     self},
    {"et::index_put_(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
     "Tensor",
     self},
    {"et::index_select.out(Tensor self, int dim, Tensor index) -> Tensor", nullptr},
    {"et::isinf.out(Tensor self) -> Tensor", self_to_bool},
    {"et::isnan.out(Tensor self) -> Tensor", self_to_bool},
};

}  // namespace

std::span<const OpRow> kernels_a_to_k() { return kRows; }

}  // namespace slipway::executorch
