// keeps
func.func @padding_of_features_stays(%x: tensor<2x6x3xi32>, %w: tensor<3x5x4xi32>) -> tensor<2x4x4xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %x, %c, low = [0, 0, 1], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<2x6x3xi32>, tensor<i32>) -> tensor<2x6x5xi32>
  %r = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x5xi32>, tensor<3x5x4xi32>) -> tensor<2x4x4xi32>
  return %r : tensor<2x4x4xi32>
}

// leaves convolution
func.func @convolution_with_reversed_kernel(%x: tensor<2x8x3xi32>, %w: tensor<3x3x4xi32>) -> tensor<2x6x4xi32> {
  %0 = stablehlo.reverse %w, dims = [0] : tensor<3x3x4xi32>
  %r = stablehlo.convolution(%x, %0) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x3xi32>, tensor<3x3x4xi32>) -> tensor<2x6x4xi32>
  return %r : tensor<2x6x4xi32>
}

// leaves reshape, convolution
func.func @convolution_with_reversed_kernel__reshaped(%x: tensor<1x8x1xi32>, %w: tensor<3xi32>) -> tensor<1x6x1xi32> {
  %0 = stablehlo.reverse %w, dims = [0] : tensor<3xi32>
  %1 = stablehlo.reshape %0 : (tensor<3xi32>) -> tensor<3x1x1xi32>
  %r = stablehlo.convolution(%x, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xi32>, tensor<3x1x1xi32>) -> tensor<1x6x1xi32>
  return %r : tensor<1x6x1xi32>
}

// keeps
func.func @reversed_features_stay(%x: tensor<2x8x3xi32>, %w: tensor<3x3x4xi32>) -> tensor<2x6x4xi32> {
  %0 = stablehlo.reverse %w, dims = [1] : tensor<3x3x4xi32>
  %r = stablehlo.convolution(%x, %0) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x3xi32>, tensor<3x3x4xi32>) -> tensor<2x6x4xi32>
  return %r : tensor<2x6x4xi32>
}

// leaves reshape, dot_general
func.func @convolution_that_is_a_product(%x: tensor<2x8x3xi32>, %w: tensor<1x3x4xi32>) -> tensor<2x8x4xi32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x3xi32>, tensor<1x3x4xi32>) -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}

// leaves dot_general, reshape
func.func @convolution_that_is_a_product__whole(%x: tensor<2x8x3xi32>, %w: tensor<8x3x4xi32>) -> tensor<2x1x4xi32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x3xi32>, tensor<8x3x4xi32>) -> tensor<2x1x4xi32>
  return %r : tensor<2x1x4xi32>
}

// leaves reshape, broadcast_in_dim, dot_general
func.func @convolution_that_is_a_product__features_before_pixels(%x: tensor<2x3x8xi32>, %w: tensor<4x3x1xi32>) -> tensor<2x4x8xi32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8xi32>, tensor<4x3x1xi32>) -> tensor<2x4x8xi32>
  return %r : tensor<2x4x8xi32>
}

// keeps
func.func @groups_of_features_are_no_single_product(%x: tensor<2x8x4xi32>, %w: tensor<1x2x4xi32>) -> tensor<2x8x4xi32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x4xi32>, tensor<1x2x4xi32>) -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}
