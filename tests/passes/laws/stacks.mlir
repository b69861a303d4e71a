// leaves reverse
func.func @concatenate_of_views(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.slice %x [2:3, 0:2] : (tensor<3x2xf32>) -> tensor<1x2xf32>
  %1 = stablehlo.slice %x [1:2, 0:2] : (tensor<3x2xf32>) -> tensor<1x2xf32>
  %2 = stablehlo.slice %x [0:1, 0:2] : (tensor<3x2xf32>) -> tensor<1x2xf32>
  %r = stablehlo.concatenate %0, %1, %2, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves reshape, transpose, reshape
func.func @concatenate_of_views__even_and_odd(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.slice %x [0:6:2] : (tensor<6xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %x [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
  %r = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves nothing
func.func @concatenate_of_views__interleaved(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.slice %x [0:6:2] : (tensor<6xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %x [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
  %2 = stablehlo.reshape %0 : (tensor<3xf32>) -> tensor<3x1xf32>
  %3 = stablehlo.reshape %1 : (tensor<3xf32>) -> tensor<3x1xf32>
  %4 = stablehlo.concatenate %2, %3, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %r = stablehlo.reshape %4 : (tensor<3x2xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves constant, reduce
func.func @concatenate_of_stack(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %x [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.slice %x [1:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %2 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1xf32>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1xf32>
  %r = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves dot_general
func.func @concatenate_of_stack__of_products(%x: tensor<2x4xf32>, %y: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.slice %x [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.slice %x [1:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %2 = stablehlo.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
  %3 = stablehlo.reshape %1 : (tensor<1x4xf32>) -> tensor<4xf32>
  %4 = stablehlo.dot_general %2, %y, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  %5 = stablehlo.dot_general %3, %y, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  %6 = stablehlo.reshape %4 : (tensor<3xf32>) -> tensor<1x3xf32>
  %7 = stablehlo.reshape %5 : (tensor<3xf32>) -> tensor<1x3xf32>
  %r = stablehlo.concatenate %6, %7, dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves dot_general
func.func @concatenate_of_stack__of_products_by_pairs(%x: tensor<2x4xf32>, %y: tensor<2x4x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.slice %x [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.slice %x [1:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %2 = stablehlo.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
  %3 = stablehlo.reshape %1 : (tensor<1x4xf32>) -> tensor<4xf32>
  %a = stablehlo.slice %y [0:1, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
  %b = stablehlo.slice %y [1:2, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
  %c = stablehlo.reshape %a : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
  %d = stablehlo.reshape %b : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
  %4 = stablehlo.dot_general %2, %c, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  %5 = stablehlo.dot_general %3, %d, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  %6 = stablehlo.reshape %4 : (tensor<3xf32>) -> tensor<1x3xf32>
  %7 = stablehlo.reshape %5 : (tensor<3xf32>) -> tensor<1x3xf32>
  %r = stablehlo.concatenate %6, %7, dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// keeps
func.func @parts_of_two_arrays_are_joined(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.slice %x [0:6:2] : (tensor<6xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %y [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
  %r = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @parts_at_irregular_distances_are_joined(%x: tensor<9xf32>) -> tensor<3xf32> {
  %0 = stablehlo.slice %x [0:1] : (tensor<9xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %x [2:3] : (tensor<9xf32>) -> tensor<1xf32>
  %2 = stablehlo.slice %x [7:8] : (tensor<9xf32>) -> tensor<1xf32>
  %r = stablehlo.concatenate %0, %1, %2, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// keeps
func.func @a_maximum_and_a_sum_are_two_reductions(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %x [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.slice %x [1:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %2 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1xf32>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1xf32>
  %r = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves constant, reduce, transpose
func.func @concatenate_of_stack__along_the_last_dimension(%x: tensor<2x3x4xf32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %x [0:1, 0:3, 0:4] : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
  %1 = stablehlo.slice %x [1:2, 0:3, 0:4] : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
  %2 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %4 = stablehlo.reshape %2 : (tensor<3xf32>) -> tensor<3x1xf32>
  %5 = stablehlo.reshape %3 : (tensor<3xf32>) -> tensor<3x1xf32>
  %r = stablehlo.concatenate %4, %5, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves reshape, transpose, reshape
func.func @concatenate_of_views__of_a_grid(%x: tensor<4x4xf32>) -> tensor<4x2x2xf32> {
  %0 = stablehlo.slice %x [0:2, 0:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.slice %x [0:2, 2:4] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.slice %x [2:4, 0:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %3 = stablehlo.slice %x [2:4, 2:4] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %4 = stablehlo.reshape %0 : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
  %5 = stablehlo.reshape %1 : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
  %6 = stablehlo.reshape %2 : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
  %7 = stablehlo.reshape %3 : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
  %r = stablehlo.concatenate %4, %5, %6, %7, dim = 0 : (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<4x2x2xf32>
  return %r : tensor<4x2x2xf32>
}

// leaves reshape
func.func @moves_of_moves(%x: tensor<6x4xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %2 = stablehlo.transpose %1, dims = [2, 0, 1] : (tensor<2x2x6xf32>) -> tensor<6x2x2xf32>
  %r = stablehlo.reshape %2 : (tensor<6x2x2xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
