// leaves broadcast_in_dim
func.func @broadcast_of_leading_sizes(%x: tensor<3xf32>) -> tensor<2x5x3xf32> {
  %r = stablehlo.broadcast %x, sizes = [2, 5] : (tensor<3xf32>) -> tensor<2x5x3xf32>
  return %r : tensor<2x5x3xf32>
}

// leaves constant
func.func @known_size(%x: tensor<2x3xf32>) -> tensor<i32> {
  %r = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  return %r : tensor<i32>
}

// keeps
func.func @the_size_of_an_open_dimension_is_not_known(%n: tensor<1xi64>) -> tensor<i32> {
  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  %r = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves nothing
func.func @set_whole_size(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<4> : tensor<i32>
  %r = stablehlo.set_dimension_size %x, %c, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves reshape
func.func @reshape_to_known_shape(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %c = stablehlo.constant dense<2> : tensor<2xi32>
  %r = stablehlo.dynamic_reshape %x, %c : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// leaves constant, dynamic_iota, reshape
func.func @reshape_to_known_shape__of_an_open_array() -> tensor<2x3xi32> {
  %n = stablehlo.constant dense<6> : tensor<1xi64>
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  %r = stablehlo.dynamic_reshape %0, %c : (tensor<?xi32>, tensor<2xi64>) -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}

// keeps
func.func @a_broadcast_to_an_open_shape(%x: tensor<f32>, %n: tensor<2xi32>) -> tensor<?x?xf32> {
  %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// leaves constant, dynamic_reshape
func.func @shape_that_an_array_has(%x: tensor<6xf32>) -> tensor<2x?xf32> {
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %x, %c : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x?xf32>
  %r = stablehlo.dynamic_broadcast_in_dim %0, %c, dims = [0, 1] : (tensor<2x?xf32>, tensor<2xi64>) -> tensor<2x?xf32>
  return %r : tensor<2x?xf32>
}

// leaves constant, dynamic_reshape, abs, add
func.func @shape_that_an_array_has__after_arithmetic(%x: tensor<6xf32>) -> tensor<2x?xf32> {
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %x, %c : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x?xf32>
  %1 = stablehlo.abs %0 : tensor<2x?xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x?xf32>
  %r = stablehlo.dynamic_reshape %2, %c : (tensor<2x?xf32>, tensor<2xi64>) -> tensor<2x?xf32>
  return %r : tensor<2x?xf32>
}

// leaves constant, dynamic_iota
func.func @shape_that_an_array_has__as_the_broadcast_says() -> tensor<?xi32> {
  %c = stablehlo.constant dense<6> : tensor<1xi64>
  %0 = stablehlo.dynamic_iota %c, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  %r = "stablehlo.dynamic_broadcast_in_dim"(%0, %c) {broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<?xi32>, tensor<1xi64>) -> tensor<?xi32>
  return %r : tensor<?xi32>
}

// keeps
func.func @a_dynamic_broadcast_that_may_repeat_elements(%n: tensor<1xi64>, %m: tensor<1xi64>) -> tensor<?xi32> {
  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  %r = stablehlo.dynamic_broadcast_in_dim %0, %m, dims = [0] : (tensor<?xi32>, tensor<1xi64>) -> tensor<?xi32>
  return %r : tensor<?xi32>
}

// keeps
func.func @a_dynamic_broadcast_that_permutes_dimensions(%n: tensor<2xi64>) -> tensor<?x?xi32> {
  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  %r = stablehlo.dynamic_broadcast_in_dim %0, %n, dims = [1, 0] : (tensor<?x?xi32>, tensor<2xi64>) -> tensor<?x?xi32>
  return %r : tensor<?x?xi32>
}

// leaves broadcast_in_dim
func.func @broadcast_to_known_shape(%x: tensor<4xf32>) -> tensor<5x4xf32> {
  %c = stablehlo.constant dense<[5, 4]> : tensor<2xi64>
  %r = stablehlo.dynamic_broadcast_in_dim %x, %c, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// leaves broadcast_in_dim
func.func @reshape_of_broadcast_to_constant_shape(%x: tensor<f32>) -> tensor<4x3xf32> {
  %c = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %c, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x3xf32>
  %r = stablehlo.reshape %0 : (tensor<?x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// keeps
func.func @no_law_takes_open_shapes_for_equal(%n: tensor<1xi64>, %m: tensor<1xi64>) -> (tensor<?xi32>, tensor<?xi32>) {
  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  %1 = stablehlo.dynamic_iota %m, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  %r = stablehlo.subtract %0, %0 : tensor<?xi32>
  return %r, %1 : tensor<?xi32>, tensor<?xi32>
}

// leaves iota
func.func @iota_of_known_shape() -> tensor<4xi32> {
  %c = stablehlo.constant dense<4> : tensor<1xi64>
  %r = stablehlo.dynamic_iota %c, dim = 0 : (tensor<1xi64>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves pad
func.func @pad_by_constants(%x: tensor<2x3xf32>, %y: tensor<f32>) -> tensor<5x9xf32> {
  %low = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
  %high = stablehlo.constant dense<[2, 1]> : tensor<2xi64>
  %between = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %r = stablehlo.dynamic_pad %x, %y, %low, %high, %between : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x9xf32>
  return %r : tensor<5x9xf32>
}

// leaves slice
func.func @slice_between_constants(%x: tensor<7x4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.constant dense<[2, 0]> : tensor<2xi64>
  %1 = stablehlo.constant dense<[7, 4]> : tensor<2xi64>
  %2 = stablehlo.constant dense<[2, 1]> : tensor<2xi64>
  %r = stablehlo.real_dynamic_slice %x, %0, %1, %2 : (tensor<7x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// leaves convert, reshape, dynamic_slice
func.func @slice_of_known_size(%x: tensor<9xf32>, %p: tensor<1xi1>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %size = stablehlo.constant dense<4> : tensor<1xi64>
  %0 = stablehlo.convert %p : (tensor<1xi1>) -> tensor<1xi64>
  %1 = stablehlo.add %0, %size : tensor<1xi64>
  %r = stablehlo.real_dynamic_slice %x, %0, %1, %one : (tensor<9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @a_slice_of_unknown_size(%x: tensor<9xf32>, %s: tensor<1xi64>, %l: tensor<1xi64>) -> tensor<?xf32> {
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %r = stablehlo.real_dynamic_slice %x, %s, %l, %one : (tensor<9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// leaves nothing
func.func @element_of_tuple(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tuple %x, %y : tuple<tensor<4xf32>, tensor<4xf32>>
  %r = stablehlo.get_tuple_element %0[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
