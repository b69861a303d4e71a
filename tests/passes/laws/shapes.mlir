// leaves nothing
func.func @same_type_as_operand(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves reshape
func.func @reshape_of_reshape(%x: tensor<4xf32>) -> tensor<1x4xf32> {
  %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  %r = stablehlo.reshape %0 : (tensor<2x2xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}

// leaves nothing
func.func @transpose_identity(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = stablehlo.transpose %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves nothing
func.func @transpose_of_transpose(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves reshape
func.func @transpose_of_unit_dimensions(%x: tensor<1x3xf32>) -> tensor<3x1xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<1x3xf32>) -> tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

// leaves nothing
func.func @broadcast_identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves broadcast_in_dim
func.func @broadcast_of_broadcast(%x: tensor<4xf32>) -> tensor<3x2x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %r = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<2x4xf32>) -> tensor<3x2x4xf32>
  return %r : tensor<3x2x4xf32>
}

// leaves reshape
func.func @broadcast_that_adds_unit_dimensions(%x: tensor<4xf32>) -> tensor<1x4xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}

// leaves constant, add
func.func @move_splat(%x: tensor<4x99xf32>) -> tensor<4x99xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x99xf32>
  %r = stablehlo.add %0, %x : tensor<4x99xf32>
  return %r : tensor<4x99xf32>
}

// leaves constant
func.func @move_splat__dynamic_slice(%i: tensor<i32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<400xf32>
  %r = stablehlo.dynamic_slice %c, %i, sizes = [3] : (tensor<400xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// leaves nothing
func.func @slice_everything(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.slice %x [0:4] : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves slice
func.func @slice_of_slice(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = stablehlo.slice %x [1:4] : (tensor<4xf32>) -> tensor<3xf32>
  %r = stablehlo.slice %0 [0:3:2] : (tensor<3xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves nothing
func.func @concatenate_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.concatenate %x, dim = 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @pad_by_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.pad %x, %c, low = [0], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, slice, pad
func.func @pad_by_less_than_nothing(%x: tensor<4xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<9.0> : tensor<f32>
  %r = stablehlo.pad %x, %c, low = [-3], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves slice
func.func @pad_by_less_than_nothing__at_the_end(%x: tensor<4xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<9.0> : tensor<f32>
  %r = stablehlo.pad %x, %c, low = [0], high = [-2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves nothing
func.func @reverse_of_unit_dimensions(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %r = stablehlo.reverse %x, dims = [0] : tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// leaves slice
func.func @dynamic_slice_of_constants(%x: tensor<4xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %c, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves nothing
func.func @update_everything(%i: tensor<i32>, %y: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @of_an_array_that_is_cut_off_nothing_can_be_sliced(%x: tensor<4xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<9.0> : tensor<f32>
  %r = stablehlo.pad %x, %c, low = [-4], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @a_broadcast_that_permutes_is_not_a_reshape(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

