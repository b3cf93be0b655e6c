// Axes in memory do not change what an op computes: with channels_last, between transposes, each gives the bits of its plain
// form in the interpreter; in the compiled model, whose chunks must not meet, kernels may add in another order.
//
// RUN: %python -c "import numpy as n; r = n.random.default_rng(7); n.savez(r'%t.npz', x=r.standard_normal((2, 4, 5, 6), 'f4'), c=r.standard_normal((2, 4, 9), 'f4'), q=r.integers(0, 256, (2, 4, 5, 6), 'u1'))"
// RUN: mopt-compiler interpret %s --inputs %t.npz --outputs %t.out.npz
// RUN: %python -c "import numpy as n; z = n.load(r'%t.out.npz'); p = [z[f'y{i}'] for i in range(len(z.files))]; assert len(p) == 34 and all(a.any() and n.array_equal(a, b) for a, b in zip(p[::2], p[1::2]))"
// Grouped by hand, so that no pass before changes the plain forms.
// RUN: mopt-opt %s --mopt-form-groups -o %t.grouped.mlir
// RUN: mopt compile %t.grouped.mlir -o %t.so
// RUN: mopt run %t.so --threads 2 --inputs %t.npz --outputs %t.run.npz
// RUN: %python -c "import numpy as n; z = n.load(r'%t.run.npz'); p = [z[f'y{i}'] for i in range(len(z.files))]; assert len(p) == 34 and all(a.any() and n.allclose(a, b, 1e-4, 1e-5) for a, b in zip(p[::2], p[1::2]))"
func.func @main(%x: tensor<2x4x5x6xf32> {mopt.name = "x"}, %c: tensor<2x4x9xf32> {mopt.name = "c"}, %q: tensor<2x4x5x6xui8> {mopt.name = "q"})
    -> (tensor<2x4x3x6xf32> {mopt.name = "y0"},
    tensor<2x4x3x6xf32> {mopt.name = "y1"},
    tensor<2x1x9xf32> {mopt.name = "y2"},
    tensor<2x1x9xf32> {mopt.name = "y3"},
    tensor<2x2x10x7xf32> {mopt.name = "y4"},
    tensor<2x2x10x7xf32> {mopt.name = "y5"},
    tensor<2x3x5x3xi32> {mopt.name = "y6"},
    tensor<2x3x5x3xi32> {mopt.name = "y7"},
    tensor<2x3x5x6xui8> {mopt.name = "y8"},
    tensor<2x3x5x6xui8> {mopt.name = "y9"},
    tensor<2x4x3x3xf32> {mopt.name = "y10"},
    tensor<2x4x3x3xf32> {mopt.name = "y11"},
    tensor<2x4x3x3xf32> {mopt.name = "y12"},
    tensor<2x4x3x3xf32> {mopt.name = "y13"},
    tensor<2x4x4x4xf32> {mopt.name = "y14"},
    tensor<2x4x4x4xf32> {mopt.name = "y15"},
    tensor<2x4x1x1xf32> {mopt.name = "y16"},
    tensor<2x4x1x1xf32> {mopt.name = "y17"},
    tensor<2x4x1x1xf32> {mopt.name = "y18"},
    tensor<2x4x1x1xf32> {mopt.name = "y19"},
    tensor<2x4x1xf32> {mopt.name = "y20"},
    tensor<2x4x1xf32> {mopt.name = "y21"},
    tensor<2x4x5x6xf32> {mopt.name = "y22"},
    tensor<2x4x5x6xf32> {mopt.name = "y23"},
    tensor<2x4x5x6xf32> {mopt.name = "y24"},
    tensor<2x4x5x6xf32> {mopt.name = "y25"},
    tensor<2x4x5x6xf32> {mopt.name = "y26"},
    tensor<2x4x5x6xf32> {mopt.name = "y27"},
    tensor<2x4x5x6xf32> {mopt.name = "y28"},
    tensor<2x4x5x6xf32> {mopt.name = "y29"},
    tensor<2x1x10x12xf32> {mopt.name = "y30"},
    tensor<2x1x10x12xf32> {mopt.name = "y31"},
    tensor<2x4x5x6xui8> {mopt.name = "y32"},
    tensor<2x4x5x6xui8> {mopt.name = "y33"}) {
  %none = mopt.none : none
  %w = mopt.constant {value = dense<[[[[1.0, -2.0], [0.5, 3.0]]], [[[-1.0, 0.25], [2.0, 1.0]]], [[[4.0, 1.0], [-0.5, 0.125]]], [[[0.75, -1.0], [1.0, -3.0]]]]> : tensor<4x1x2x2xf32>} : tensor<4x1x2x2xf32>
  %wt = mopt.constant {value = dense<[[[[1.0, -2.0]]], [[[0.5, 3.0]]], [[[-1.0, 0.25]]], [[[2.0, 1.0]]]]> : tensor<4x1x1x2xf32>} : tensor<4x1x1x2xf32>
  %w1 = mopt.constant {value = dense<[[[1.0, -2.0, 0.5], [3.0, -1.0, 0.25], [2.0, 1.0, 4.0], [1.0, -0.5, 0.125]]]> : tensor<1x4x3xf32>} : tensor<1x4x3xf32>
  %v = mopt.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : tensor<4xf32>
  %v2 = mopt.constant {value = dense<[1.5, 2.5]> : tensor<2xf32>} : tensor<2xf32>
  %v1 = mopt.constant {value = dense<[0.5]> : tensor<1xf32>} : tensor<1xf32>
  %wi = mopt.constant {value = dense<[[[[1]], [[-2]], [[3]], [[-4]]], [[[5]], [[6]], [[-7]], [[8]]], [[[9]], [[-1]], [[2]], [[3]]]]> : tensor<3x4x1x1xi8>} : tensor<3x4x1x1xi8>
  %zu = mopt.constant {value = dense<3> : tensor<ui8>} : tensor<ui8>
  %zi = mopt.constant {value = dense<1> : tensor<i8>} : tensor<i8>
  %s = mopt.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %s2 = mopt.constant {value = dense<4.0> : tensor<f32>} : tensor<f32>
  %xl = mopt.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x4x5x6xf32>) -> tensor<2x5x6x4xf32>
  %cl = mopt.transpose %c {perm = array<i64: 0, 2, 1>} : (tensor<2x4x9xf32>) -> tensor<2x9x4xf32>
  %ql = mopt.transpose %q {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x4x5x6xui8>) -> tensor<2x5x6x4xui8>
  %conv0 = mopt.conv %x, %w, %v {group = 4 : i64, pads = array<i64: 1, 0, 0, 1>, strides = array<i64: 2, 1>} : (tensor<2x4x5x6xf32>, tensor<4x1x2x2xf32>, tensor<4xf32>) -> tensor<2x4x3x6xf32>
  %conv0l = mopt.conv %xl, %w, %v {group = 4 : i64, pads = array<i64: 1, 0, 0, 1>, strides = array<i64: 2, 1>, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>, tensor<4x1x2x2xf32>, tensor<4xf32>) -> tensor<2x3x6x4xf32>
  %conv0lt = mopt.transpose %conv0l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x3x6x4xf32>) -> tensor<2x4x3x6xf32>
  %conv1 = mopt.conv %c, %w1, %v1 {dilations = array<i64: 2>, auto_pad = "SAME_LOWER"} : (tensor<2x4x9xf32>, tensor<1x4x3xf32>, tensor<1xf32>) -> tensor<2x1x9xf32>
  %conv1l = mopt.conv %cl, %w1, %v1 {dilations = array<i64: 2>, auto_pad = "SAME_LOWER", channels_last = 1 : i64} : (tensor<2x9x4xf32>, tensor<1x4x3xf32>, tensor<1xf32>) -> tensor<2x9x1xf32>
  %conv1lt = mopt.transpose %conv1l {perm = array<i64: 0, 2, 1>} : (tensor<2x9x1xf32>) -> tensor<2x1x9xf32>
  %conv_transpose2 = mopt.conv_transpose %x, %wt, %v2 {group = 2 : i64, strides = array<i64: 2, 1>, output_padding = array<i64: 1, 0>} : (tensor<2x4x5x6xf32>, tensor<4x1x1x2xf32>, tensor<2xf32>) -> tensor<2x2x10x7xf32>
  %conv_transpose2l = mopt.conv_transpose %xl, %wt, %v2 {group = 2 : i64, strides = array<i64: 2, 1>, output_padding = array<i64: 1, 0>, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>, tensor<4x1x1x2xf32>, tensor<2xf32>) -> tensor<2x10x7x2xf32>
  %conv_transpose2lt = mopt.transpose %conv_transpose2l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x10x7x2xf32>) -> tensor<2x2x10x7xf32>
  %conv_integer3 = mopt.conv_integer %q, %wi, %zu, %zi {strides = array<i64: 1, 2>} : (tensor<2x4x5x6xui8>, tensor<3x4x1x1xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x3x5x3xi32>
  %conv_integer3l = mopt.conv_integer %ql, %wi, %zu, %zi {strides = array<i64: 1, 2>, channels_last = 1 : i64} : (tensor<2x5x6x4xui8>, tensor<3x4x1x1xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x5x3x3xi32>
  %conv_integer3lt = mopt.transpose %conv_integer3l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x3x3xi32>) -> tensor<2x3x5x3xi32>
  %qlinear_conv4 = mopt.qlinear_conv %q, %s, %zu, %wi, %s, %zi, %s2, %zu, %none : (tensor<2x4x5x6xui8>, tensor<f32>, tensor<ui8>, tensor<3x4x1x1xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>, none) -> tensor<2x3x5x6xui8>
  %qlinear_conv4l = mopt.qlinear_conv %ql, %s, %zu, %wi, %s, %zi, %s2, %zu, %none {channels_last = 1 : i64} : (tensor<2x5x6x4xui8>, tensor<f32>, tensor<ui8>, tensor<3x4x1x1xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>, none) -> tensor<2x5x6x3xui8>
  %qlinear_conv4lt = mopt.transpose %qlinear_conv4l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x6x3xui8>) -> tensor<2x3x5x6xui8>
  %average_pool5 = mopt.average_pool %x {kernel_shape = array<i64: 3, 2>, pads = array<i64: 1, 0, 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x4x5x6xf32>) -> tensor<2x4x3x3xf32>
  %average_pool5l = mopt.average_pool %xl {kernel_shape = array<i64: 3, 2>, pads = array<i64: 1, 0, 1, 1>, strides = array<i64: 2, 2>, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>) -> tensor<2x3x3x4xf32>
  %average_pool5lt = mopt.transpose %average_pool5l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x3x3x4xf32>) -> tensor<2x4x3x3xf32>
  %max_pool6:2 = mopt.max_pool %x {kernel_shape = array<i64: 2, 3>, ceil_mode = 1 : i64, strides = array<i64: 2, 2>} : (tensor<2x4x5x6xf32>) -> (tensor<2x4x3x3xf32>, none)
  %max_pool6l:2 = mopt.max_pool %xl {kernel_shape = array<i64: 2, 3>, ceil_mode = 1 : i64, strides = array<i64: 2, 2>, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>) -> (tensor<2x3x3x4xf32>, none)
  %max_pool6lt = mopt.transpose %max_pool6l#0 {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x3x3x4xf32>) -> tensor<2x4x3x3xf32>
  %lp_pool7 = mopt.lp_pool %x {kernel_shape = array<i64: 2, 3>} : (tensor<2x4x5x6xf32>) -> tensor<2x4x4x4xf32>
  %lp_pool7l = mopt.lp_pool %xl {kernel_shape = array<i64: 2, 3>, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>) -> tensor<2x4x4x4xf32>
  %lp_pool7lt = mopt.transpose %lp_pool7l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %global_average_pool8 = mopt.global_average_pool %x : (tensor<2x4x5x6xf32>) -> tensor<2x4x1x1xf32>
  %global_average_pool8l = mopt.global_average_pool %xl {channels_last = 1 : i64} : (tensor<2x5x6x4xf32>) -> tensor<2x1x1x4xf32>
  %global_average_pool8lt = mopt.transpose %global_average_pool8l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x1x1x4xf32>) -> tensor<2x4x1x1xf32>
  %global_max_pool9 = mopt.global_max_pool %x : (tensor<2x4x5x6xf32>) -> tensor<2x4x1x1xf32>
  %global_max_pool9l = mopt.global_max_pool %xl {channels_last = 1 : i64} : (tensor<2x5x6x4xf32>) -> tensor<2x1x1x4xf32>
  %global_max_pool9lt = mopt.transpose %global_max_pool9l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x1x1x4xf32>) -> tensor<2x4x1x1xf32>
  %global_lp_pool10 = mopt.global_lp_pool %c {p = 3 : i64} : (tensor<2x4x9xf32>) -> tensor<2x4x1xf32>
  %global_lp_pool10l = mopt.global_lp_pool %cl {p = 3 : i64, channels_last = 1 : i64} : (tensor<2x9x4xf32>) -> tensor<2x1x4xf32>
  %global_lp_pool10lt = mopt.transpose %global_lp_pool10l {perm = array<i64: 0, 2, 1>} : (tensor<2x1x4xf32>) -> tensor<2x4x1xf32>
  %batch_norm11:3 = mopt.batch_norm %x, %v, %v, %v, %v {training_mode = 1 : i64} : (tensor<2x4x5x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x5x6xf32>, none, none)
  %batch_norm11l:3 = mopt.batch_norm %xl, %v, %v, %v, %v {training_mode = 1 : i64, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x5x6x4xf32>, none, none)
  %batch_norm11lt = mopt.transpose %batch_norm11l#0 {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x6x4xf32>) -> tensor<2x4x5x6xf32>
  %instance_norm12 = mopt.instance_norm %x, %v, %v : (tensor<2x4x5x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x5x6xf32>
  %instance_norm12l = mopt.instance_norm %xl, %v, %v {channels_last = 1 : i64} : (tensor<2x5x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x5x6x4xf32>
  %instance_norm12lt = mopt.transpose %instance_norm12l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x6x4xf32>) -> tensor<2x4x5x6xf32>
  %group_norm13 = mopt.group_norm %x, %v2, %v2 {num_groups = 2 : i64, scale_per_group = 1 : i64} : (tensor<2x4x5x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4x5x6xf32>
  %group_norm13l = mopt.group_norm %xl, %v2, %v2 {num_groups = 2 : i64, scale_per_group = 1 : i64, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x5x6x4xf32>
  %group_norm13lt = mopt.transpose %group_norm13l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x6x4xf32>) -> tensor<2x4x5x6xf32>
  %lrn14 = mopt.lrn %x {size = 3 : i64} : (tensor<2x4x5x6xf32>) -> tensor<2x4x5x6xf32>
  %lrn14l = mopt.lrn %xl {size = 3 : i64, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>) -> tensor<2x5x6x4xf32>
  %lrn14lt = mopt.transpose %lrn14l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x6x4xf32>) -> tensor<2x4x5x6xf32>
  %depth_to_space15 = mopt.depth_to_space %x {blocksize = 2 : i64} : (tensor<2x4x5x6xf32>) -> tensor<2x1x10x12xf32>
  %depth_to_space15l = mopt.depth_to_space %xl {blocksize = 2 : i64, channels_last = 1 : i64} : (tensor<2x5x6x4xf32>) -> tensor<2x10x12x1xf32>
  %depth_to_space15lt = mopt.transpose %depth_to_space15l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x10x12x1xf32>) -> tensor<2x1x10x12xf32>
  %space_to_depth16 = mopt.space_to_depth %q {blocksize = 1 : i64, mode = "CRD"} : (tensor<2x4x5x6xui8>) -> tensor<2x4x5x6xui8>
  %space_to_depth16l = mopt.space_to_depth %ql {blocksize = 1 : i64, mode = "CRD", channels_last = 1 : i64} : (tensor<2x5x6x4xui8>) -> tensor<2x5x6x4xui8>
  %space_to_depth16lt = mopt.transpose %space_to_depth16l {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x6x4xui8>) -> tensor<2x4x5x6xui8>
  return %conv0, %conv0lt, %conv1, %conv1lt, %conv_transpose2, %conv_transpose2lt, %conv_integer3, %conv_integer3lt, %qlinear_conv4, %qlinear_conv4lt, %average_pool5, %average_pool5lt, %max_pool6#0, %max_pool6lt, %lp_pool7, %lp_pool7lt, %global_average_pool8, %global_average_pool8lt, %global_max_pool9, %global_max_pool9lt, %global_lp_pool10, %global_lp_pool10lt, %batch_norm11#0, %batch_norm11lt, %instance_norm12, %instance_norm12lt, %group_norm13, %group_norm13lt, %lrn14, %lrn14lt, %depth_to_space15, %depth_to_space15lt, %space_to_depth16, %space_to_depth16lt
    : tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x9xf32>, tensor<2x1x9xf32>, tensor<2x2x10x7xf32>, tensor<2x2x10x7xf32>, tensor<2x3x5x3xi32>, tensor<2x3x5x3xi32>, tensor<2x3x5x6xui8>, tensor<2x3x5x6xui8>, tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>, tensor<2x4x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x1x10x12xf32>, tensor<2x1x10x12xf32>, tensor<2x4x5x6xui8>, tensor<2x4x5x6xui8>
}
