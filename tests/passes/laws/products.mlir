// leaves constant, transpose, multiply, reduce
func.func @inner_products(%x: tensor<3x4xi32>, %y: tensor<4x3xi32>) -> tensor<3xi32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<3x4xi32>, tensor<4x3xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// leaves constant, broadcast_in_dim, multiply, reduce
func.func @products_with_vectors(%x: tensor<3x4xi32>, %y: tensor<4xi32>) -> tensor<3xi32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// keeps
func.func @products_with_vectors__not_of_matrices(%x: tensor<3x4xf32>, %y: tensor<4x2xf32>) -> tensor<3x2xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves constant, multiply, reduce, transpose
func.func @inner_products__of_two_batches(%x: tensor<2x4x3xi32>, %y: tensor<2x4x3xi32>) -> tensor<3x2xi32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [2, 0] x [2, 0], contracting_dims = [1] x [1] : (tensor<2x4x3xi32>, tensor<2x4x3xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}

// keeps
func.func @products_of_a_batch_of_rows(%x: tensor<2x4x3xf32>, %y: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x3xf32>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves dot_general
func.func @transpose_into_dot(%x: tensor<3x2xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// leaves dot_general
func.func @transpose_of_dot(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %r = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// leaves constant
func.func @dot_of_nothing(%x: tensor<2x0xf32>, %y: tensor<0x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// leaves constant, reshape, broadcast_in_dim, reshape, broadcast_in_dim, multiply, add
func.func @dot_of_single_terms(%x: tensor<2x1xf32>, %y: tensor<1x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x1xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// leaves broadcast_in_dim, broadcast_in_dim, multiply
func.func @dot_of_single_terms__batches(%x: tensor<3x2xi32>, %y: tensor<3x4xi32>) -> tensor<3x2x4xi32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<3x2xi32>, tensor<3x4xi32>) -> tensor<3x2x4xi32>
  return %r : tensor<3x2x4xi32>
}

// leaves dot_general, broadcast_in_dim
func.func @dot_of_broadcast(%x: tensor<3xi32>, %y: tensor<3x4xi32>) -> tensor<5x4xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xi32>) -> tensor<5x3xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<5x3xi32>, tensor<3x4xi32>) -> tensor<5x4xi32>
  return %r : tensor<5x4xi32>
}

// leaves dot_general, broadcast_in_dim
func.func @dot_of_broadcast__batches(%x: tensor<2x3xi32>, %y: tensor<3x4xi32>) -> tensor<5x2x4xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x3xi32>) -> tensor<5x2x3xi32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<3x4xi32>) -> tensor<5x3x4xi32>
  %r = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x2x3xi32>, tensor<5x3x4xi32>) -> tensor<5x2x4xi32>
  return %r : tensor<5x2x4xi32>
}

// keeps
func.func @a_result_that_would_have_to_be_transposed(%x: tensor<2x3xi32>, %y: tensor<5x3x9xi32>) -> tensor<5x2x9xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x3xi32>) -> tensor<5x2x3xi32>
  %r = stablehlo.dot_general %0, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x2x3xi32>, tensor<5x3x9xi32>) -> tensor<5x2x9xi32>
  return %r : tensor<5x2x9xi32>
}

// leaves dot_general
func.func @dot_of_reshapes(%x: tensor<4x5xi32>, %y: tensor<4x5x2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.reshape %x : (tensor<4x5xi32>) -> tensor<20xi32>
  %1 = stablehlo.reshape %y : (tensor<4x5x2xi32>) -> tensor<20x2xi32>
  %r = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0] : (tensor<20xi32>, tensor<20x2xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// keeps
func.func @dimensions_that_only_one_operand_splits_are_not_merged(%x: tensor<4x5xi32>, %y: tensor<20x2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.reshape %x : (tensor<4x5xi32>) -> tensor<20xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [0] x [0] : (tensor<20xi32>, tensor<20x2xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// leaves dot_general
func.func @reshape_of_dot(%x: tensor<2x3x4xi32>, %y: tensor<4x5xi32>) -> tensor<2x3x5xi32> {
  %0 = stablehlo.reshape %x : (tensor<2x3x4xi32>) -> tensor<6x4xi32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<6x4xi32>, tensor<4x5xi32>) -> tensor<6x5xi32>
  %r = stablehlo.reshape %1 : (tensor<6x5xi32>) -> tensor<2x3x5xi32>
  return %r : tensor<2x3x5xi32>
}

// leaves dot_general
func.func @reshape_of_dot__batch_of_one(%x: tensor<1x3x4xi32>, %y: tensor<1x4x5xi32>) -> tensor<1x3x5xi32> {
  %0 = stablehlo.reshape %x : (tensor<1x3x4xi32>) -> tensor<3x4xi32>
  %1 = stablehlo.reshape %y : (tensor<1x4x5xi32>) -> tensor<4x5xi32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<3x4xi32>, tensor<4x5xi32>) -> tensor<3x5xi32>
  %r = stablehlo.reshape %2 : (tensor<3x5xi32>) -> tensor<1x3x5xi32>
  return %r : tensor<1x3x5xi32>
}

// keeps
func.func @only_one_operand_is_reversed(%x: tensor<2x3xi32>, %y: tensor<3x4xi32>) -> tensor<2x4xi32> {
  %0 = stablehlo.reverse %x, dims = [1] : tensor<2x3xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}

// leaves constant, transpose, multiply, reduce
func.func @diagonal_of_dot(%x: tensor<40x3xi32>, %y: tensor<3x40xi32>) -> tensor<40xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<40x3xi32>, tensor<3x40xi32>) -> tensor<40x40xi32>
  %1 = stablehlo.reshape %0 : (tensor<40x40xi32>) -> tensor<1600xi32>
  %r = stablehlo.slice %1 [0:1600:41] : (tensor<1600xi32>) -> tensor<40xi32>
  return %r : tensor<40xi32>
}

// leaves constant, slice, slice, transpose, multiply, reduce
func.func @diagonal_of_dot__above(%x: tensor<40x3xi32>, %y: tensor<3x40xi32>) -> tensor<39xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<40x3xi32>, tensor<3x40xi32>) -> tensor<40x40xi32>
  %1 = stablehlo.reshape %0 : (tensor<40x40xi32>) -> tensor<1600xi32>
  %r = stablehlo.slice %1 [1:1600:41] : (tensor<1600xi32>) -> tensor<39xi32>
  return %r : tensor<39xi32>
}

// leaves constant
func.func @product_with_zeros(%x: tensor<2x3xi32>) -> tensor<2x4xi32> {
  %c = stablehlo.constant dense<0> : tensor<3x4xi32>
  %r = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}

// leaves constant
func.func @product_with_zeros__finite(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<3x4xf32>
  %0 = stablehlo.constant dense<8.0> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<-8.0> : tensor<2x3xf32>
  %2 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %3 = stablehlo.select %2, %0, %1 : tensor<2x3xi1>, tensor<2x3xf32>
  %r = stablehlo.dot_general %3, %c, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// leaves slice, dot_general
func.func @dot_of_pad(%x: tensor<9x3xi32>, %y: tensor<6x2xi32>) -> tensor<9x2xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %x, %c, low = [0, 2], high = [0, 1], interior = [0, 0] : (tensor<9x3xi32>, tensor<i32>) -> tensor<9x6xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<9x6xi32>, tensor<6x2xi32>) -> tensor<9x2xi32>
  return %r : tensor<9x2xi32>
}

// leaves constant, dot_general, pad
func.func @dot_of_pad__free_dimensions(%x: tensor<3x9xi32>, %y: tensor<9x2xi32>) -> tensor<6x2xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %x, %c, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<3x9xi32>, tensor<i32>) -> tensor<6x9xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<6x9xi32>, tensor<9x2xi32>) -> tensor<6x2xi32>
  return %r : tensor<6x2xi32>
}

// leaves dot_general
func.func @dot_of_pad__both(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [2], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.pad %y, %c, low = [2], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @padding_with_ones_takes_part(%x: tensor<9x3xi32>, %y: tensor<6x2xi32>) -> tensor<9x2xi32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.pad %x, %c, low = [0, 2], high = [0, 1], interior = [0, 0] : (tensor<9x3xi32>, tensor<i32>) -> tensor<9x6xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<9x6xi32>, tensor<6x2xi32>) -> tensor<9x2xi32>
  return %r : tensor<9x2xi32>
}

// leaves reverse
func.func @dot_with_selection(%y: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %c = stablehlo.constant dense<[[0, 0, 1], [0, 1, 0], [1, 0, 0]]> : tensor<3x3xi32>
  %r = stablehlo.dot_general %c, %y, contracting_dims = [1] x [0] : (tensor<3x3xi32>, tensor<3x2xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}

// leaves nothing
func.func @dot_with_selection__identity(%y: tensor<90x2xi32>) -> tensor<90x2xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<90x90xi32>
  %1 = stablehlo.iota dim = 1 : tensor<90x90xi32>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<90x90xi32>, tensor<90x90xi32>) -> tensor<90x90xi1>
  %3 = stablehlo.convert %2 : (tensor<90x90xi1>) -> tensor<90x90xi32>
  %r = stablehlo.dot_general %3, %y, contracting_dims = [1] x [0] : (tensor<90x90xi32>, tensor<90x2xi32>) -> tensor<90x2xi32>
  return %r : tensor<90x2xi32>
}

// leaves constant, slice, pad
func.func @dot_with_selection__shifted(%y: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %c = stablehlo.constant dense<[[0, 1, 0], [0, 0, 1], [0, 0, 0]]> : tensor<3x3xi32>
  %r = stablehlo.dot_general %y, %c, contracting_dims = [1] x [0] : (tensor<2x3xi32>, tensor<3x3xi32>) -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}

// keeps
func.func @dot_with_selection__of_numbers_that_wrap(%x: tensor<300xi32>) -> tensor<300xi32> {
  %i = stablehlo.iota dim = 0 : tensor<300x300xi8>
  %j = stablehlo.iota dim = 1 : tensor<300x300xi8>
  %p = stablehlo.compare EQ, %i, %j : (tensor<300x300xi8>, tensor<300x300xi8>) -> tensor<300x300xi1>
  %e = stablehlo.convert %p : (tensor<300x300xi1>) -> tensor<300x300xi32>
  %r = stablehlo.dot_general %e, %x, contracting_dims = [1] x [0] : (tensor<300x300xi32>, tensor<300xi32>) -> tensor<300xi32>
  return %r : tensor<300xi32>
}

// keeps
func.func @a_matrix_with_two_ones_in_a_row_selects_none(%y: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %c = stablehlo.constant dense<[[1, 0, 1], [0, 1, 0], [1, 0, 0]]> : tensor<3x3xi32>
  %r = stablehlo.dot_general %c, %y, contracting_dims = [1] x [0] : (tensor<3x3xi32>, tensor<3x2xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}

// leaves dot_general, broadcast_in_dim, multiply
func.func @product_of_scaled(%x: tensor<2x9xi32>, %y: tensor<9x4xi32>, %s: tensor<i32>) -> tensor<2x4xi32> {
  %c = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<2x9xi32>
  %0 = stablehlo.multiply %x, %c : tensor<2x9xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<2x9xi32>, tensor<9x4xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}

// leaves constant, multiply, dot_general
func.func @product_of_scaled__both(%x: tensor<5x2xi32>, %y: tensor<2x4xi32>) -> tensor<5x4xi32> {
  %c = stablehlo.constant dense<2> : tensor<5x2xi32>
  %0 = stablehlo.multiply %x, %c : tensor<5x2xi32>
  %d = stablehlo.constant dense<3> : tensor<2x4xi32>
  %1 = stablehlo.multiply %y, %d : tensor<2x4xi32>
  %r = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<5x2xi32>, tensor<2x4xi32>) -> tensor<5x4xi32>
  return %r : tensor<5x4xi32>
}

// leaves constant, dot_general, multiply
func.func @scaled_product(%x: tensor<5x2xi32>, %y: tensor<2x4xi32>) -> tensor<5x4xi32> {
  %c = stablehlo.constant dense<2> : tensor<5x2xi32>
  %0 = stablehlo.multiply %x, %c : tensor<5x2xi32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<5x2xi32>, tensor<2x4xi32>) -> tensor<5x4xi32>
  %d = stablehlo.constant dense<3> : tensor<5x4xi32>
  %r = stablehlo.multiply %1, %d : tensor<5x4xi32>
  return %r : tensor<5x4xi32>
}

// leaves abs, dot_general, dot_general
func.func @chain_of_dots(%x: tensor<4x5xi32>, %y: tensor<5x6xi32>, %z: tensor<6xi32>) -> tensor<4xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x5xi32>, tensor<5x6xi32>) -> tensor<4x6xi32>
  %1 = stablehlo.abs %z : tensor<6xi32>
  %r = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x6xi32>, tensor<6xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves abs, dot_general, dot_general
func.func @chain_of_dots__from_the_left(%x: tensor<4xi32>, %y: tensor<4x5xi32>, %z: tensor<5x6xi32>) -> tensor<6xi32> {
  %0 = stablehlo.dot_general %y, %z, contracting_dims = [1] x [0] : (tensor<4x5xi32>, tensor<5x6xi32>) -> tensor<4x6xi32>
  %1 = stablehlo.abs %x : tensor<4xi32>
  %r = stablehlo.dot_general %1, %0, contracting_dims = [0] x [0] : (tensor<4xi32>, tensor<4x6xi32>) -> tensor<6xi32>
  return %r : tensor<6xi32>
}

// keeps
func.func @batches_that_are_not_adjacent_to_the_sum(%x: tensor<7x4x5xi32>, %y: tensor<7x5x6xi32>) -> tensor<4x6xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<7x4x5xi32>, tensor<7x5x6xi32>) -> tensor<7x4x6xi32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<7x4x6xi32>, tensor<i32>) -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}

// leaves constant, reduce, broadcast_in_dim, broadcast_in_dim, multiply
func.func @dot_of_repeated_terms(%x: tensor<4xi32>, %y: tensor<5x6xi32>) -> tensor<4x6xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xi32>) -> tensor<4x5xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<4x5xi32>, tensor<5x6xi32>) -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}

// leaves constant, reduce, broadcast_in_dim
func.func @dot_of_repeated_terms__ones(%y: tensor<5x6xi32>) -> tensor<4x6xi32> {
  %0 = stablehlo.constant dense<1> : tensor<4x5xi32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<4x5xi32>, tensor<5x6xi32>) -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}

// leaves dot_general
func.func @transpose_of_dot__batches(%x: tensor<5x7x2x3xi32>, %y: tensor<5x7x3x4xi32>) -> tensor<7x5x4x2xi32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<5x7x2x3xi32>, tensor<5x7x3x4xi32>) -> tensor<5x7x2x4xi32>
  %r = stablehlo.transpose %0, dims = [1, 0, 3, 2] : (tensor<5x7x2x4xi32>) -> tensor<7x5x4x2xi32>
  return %r : tensor<7x5x4x2xi32>
}

// leaves dot_general
func.func @transpose_of_dot__of_a_transpose(%x: tensor<2x5x3xi32>, %y: tensor<3x4xi32>) -> tensor<2x5x4xi32> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<2x5x3xi32>) -> tensor<5x2x3xi32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [2] x [0] : (tensor<5x2x3xi32>, tensor<3x4xi32>) -> tensor<5x2x4xi32>
  %r = stablehlo.transpose %1, dims = [1, 0, 2] : (tensor<5x2x4xi32>) -> tensor<2x5x4xi32>
  return %r : tensor<2x5x4xi32>
}

// leaves constant, constant, constant, gather, compare, compare, and, broadcast_in_dim, select
func.func @dot_with_one_hot(%i: tensor<4xi32>, %x: tensor<9x2xi32>) -> tensor<4x2xi32> {
  %0 = stablehlo.iota dim = 1 : tensor<4x9xi32>
  %1 = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x9xi32>
  %2 = stablehlo.compare EQ, %1, %0 : (tensor<4x9xi32>, tensor<4x9xi32>) -> tensor<4x9xi1>
  %3 = stablehlo.convert %2 : (tensor<4x9xi1>) -> tensor<4x9xi32>
  %r = stablehlo.dot_general %3, %x, contracting_dims = [1] x [0] : (tensor<4x9xi32>, tensor<9x2xi32>) -> tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}
