// leaves add, broadcast_in_dim
func.func @elementwise_of_broadcasts(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %r = stablehlo.add %0, %1 : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// leaves constant, broadcast_in_dim, add, multiply, broadcast_in_dim
func.func @elementwise_of_broadcasts__with_numbers(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<3x4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<3x4xf32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<3x4xf32>
  %r = stablehlo.divide %2, %c : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// leaves add, transpose
func.func @elementwise_of_equal_moves(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %r = stablehlo.add %0, %1 : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// leaves select, reverse
func.func @elementwise_of_equal_moves__reversed(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  %1 = stablehlo.reverse %y, dims = [0] : tensor<4xf32>
  %r = stablehlo.select %p, %0, %1 : tensor<i1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves transpose, add
func.func @move_back_after_elementwise(%x: tensor<4x3xf32>, %y: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.add %0, %y : tensor<3x4xf32>
  %r = stablehlo.transpose %1, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// leaves negate
func.func @move_back_after_elementwise__reshaped(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.reshape %x : (tensor<4x3xf32>) -> tensor<12xf32>
  %1 = stablehlo.negate %0 : tensor<12xf32>
  %r = stablehlo.reshape %1 : (tensor<12xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// leaves transpose, broadcast_in_dim
func.func @transpose_of_broadcast__that_exchanges_dimensions(%x: tensor<4x5xf32>) -> tensor<3x5x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x5xf32>) -> tensor<3x4x5xf32>
  %r = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<3x4x5xf32>) -> tensor<3x5x4xf32>
  return %r : tensor<3x5x4xf32>
}

// leaves broadcast_in_dim
func.func @transpose_of_broadcast(%x: tensor<4xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %r = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// leaves iota
func.func @reshape_of_iota() -> tensor<2x200x4x1xi32> {
  %0 = stablehlo.iota dim = 1 : tensor<2x200x2x2xi32>
  %r = stablehlo.reshape %0 : (tensor<2x200x2x2xi32>) -> tensor<2x200x4x1xi32>
  return %r : tensor<2x200x4x1xi32>
}

// leaves reshape, broadcast_in_dim
func.func @reshape_of_broadcast(%x: tensor<1x4xf32>) -> tensor<6x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x4xf32>) -> tensor<2x3x4xf32>
  %r = stablehlo.reshape %0 : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// leaves broadcast_in_dim
func.func @broadcast_of_reshape(%x: tensor<4xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<4x1xf32>
  %r = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// keeps
func.func @broadcasts_to_different_dimensions_meet_at_every_element(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %r = stablehlo.add %0, %1 : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// keeps
func.func @one_transpose_among_two_operands_stays(%x: tensor<4x3xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %r = stablehlo.add %0, %y : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// keeps
func.func @a_transpose_of_two_others_does_not_cancel(%x: tensor<4x3xf32>, %y: tensor<3x4xf32>, %z: tensor<3x4xf32>, %p: tensor<3x4xi1>) -> (tensor<3x4xf32>, tensor<4x3xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.select %p, %0, %y : tensor<3x4xi1>, tensor<3x4xf32>
  %r = stablehlo.transpose %1, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return %0, %r : tensor<3x4xf32>, tensor<4x3xf32>
}

// keeps
func.func @a_reshape_that_merges_the_dimension_counted_along() -> tensor<6x100xi32> {
  %0 = stablehlo.iota dim = 1 : tensor<2x3x100xi32>
  %r = stablehlo.reshape %0 : (tensor<2x3x100xi32>) -> tensor<6x100xi32>
  return %r : tensor<6x100xi32>
}

// leaves broadcast_in_dim, broadcast_in_dim, multiply
func.func @transpose_of_broadcast_arithmetic(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<5x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x5xf32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<5xf32>) -> tensor<4x5xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4x5xf32>
  %r = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// leaves constant, constant, iota, iota, compare, select
func.func @transpose_of_broadcast_arithmetic__of_counters() -> tensor<4x4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %i = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %j = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %p = stablehlo.compare LT, %i, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %0 = stablehlo.select %p, %c, %z : tensor<4x4xi1>, tensor<4x4xf32>
  %r = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// keeps
func.func @reversals_of_dimensions_that_do_not_split(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = stablehlo.reverse %x, dims = [1] : tensor<4x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %r = stablehlo.reverse %1, dims = [1] : tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}
