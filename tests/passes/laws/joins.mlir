// leaves constant, pad
func.func @pad_of_pad(%x: tensor<4xf32>) -> tensor<13xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.pad %0, %c, low = [2], high = [3], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<13xf32>
  return %r : tensor<13xf32>
}

// leaves constant
func.func @pad_of_splat() -> tensor<403xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.constant dense<1.0> : tensor<400xf32>
  %r = stablehlo.pad %0, %c, low = [1], high = [2], interior = [0] : (tensor<400xf32>, tensor<f32>) -> tensor<403xf32>
  return %r : tensor<403xf32>
}

// leaves constant, add, pad
func.func @elementwise_of_pads(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<7xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %d = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = stablehlo.pad %y, %d, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %r = stablehlo.add %0, %1 : tensor<7xf32>
  return %r : tensor<7xf32>
}

// leaves concatenate
func.func @concatenate_of_concatenates(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<11xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4xf32>, tensor<3xf32>) -> tensor<7xf32>
  %r = stablehlo.concatenate %0, %x, dim = 0 : (tensor<7xf32>, tensor<4xf32>) -> tensor<11xf32>
  return %r : tensor<11xf32>
}

// leaves broadcast_in_dim
func.func @concatenate_of_equal_parts(%x: tensor<4x1xf32>) -> tensor<4x3xf32> {
  %r = stablehlo.concatenate %x, %x, %x, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// leaves broadcast_in_dim, reshape
func.func @concatenate_of_equal_parts__of_two(%x: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %r = stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// leaves constant, pad
func.func @concatenate_that_pads(%x: tensor<4xf32>) -> tensor<9xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<2xf32>
  %d = stablehlo.constant dense<1.0> : tensor<3xf32>
  %r = stablehlo.concatenate %c, %x, %d, dim = 0 : (tensor<2xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// keeps
func.func @parts_in_another_order_are_joined(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.slice %x [2:4] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %2 = stablehlo.negate %0 : tensor<2xf32>
  %3 = stablehlo.negate %1 : tensor<2xf32>
  %r = stablehlo.concatenate %2, %3, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @two_functions_are_no_batch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = stablehlo.slice %x [2:4] : (tensor<4xf32>) -> tensor<2xf32>
  %2 = stablehlo.negate %0 : tensor<2xf32>
  %3 = stablehlo.abs %1 : tensor<2xf32>
  %r = stablehlo.concatenate %2, %3, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @pads_of_two_widths_are_not_one_pad_of_a_sum(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<7xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = stablehlo.pad %y, %c, low = [1], high = [1], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<7xf32>
  %r = stablehlo.add %0, %1 : tensor<7xf32>
  return %r : tensor<7xf32>
}

// keeps
func.func @pads_of_two_numbers_are_two(%x: tensor<4xf32>) -> tensor<9xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %r = stablehlo.pad %0, %d, low = [1], high = [1], interior = [0] : (tensor<7xf32>, tensor<f32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// leaves constant, concatenate, add
func.func @elementwise_of_pads_apart(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0], high = [3], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = stablehlo.pad %y, %c, low = [2], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %r = stablehlo.add %0, %1 : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, constant, constant, constant, divide, divide, concatenate, pad
func.func @elementwise_of_pads_apart__with_two_numbers(%x: tensor<2x2xf32>, %y: tensor<1x2xf32>) -> tensor<6x2xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %d = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [3, 0], high = [1, 0], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<6x2xf32>
  %1 = stablehlo.pad %y, %d, low = [1, 0], high = [4, 0], interior = [0, 0] : (tensor<1x2xf32>, tensor<f32>) -> tensor<6x2xf32>
  %r = stablehlo.divide %0, %1 : tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

// keeps
func.func @pads_whose_elements_alternate_are_not_joined(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<6xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [1], high = [0], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = stablehlo.pad %y, %c, low = [0], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  %r = stablehlo.add %0, %1 : tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @pads_that_overlap_are_not_joined(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0], high = [2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = stablehlo.pad %y, %c, low = [2], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %r = stablehlo.add %0, %1 : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves concatenate, transpose
func.func @concatenate_of_moves(%x: tensor<2x3xf32>, %y: tensor<5x3xf32>) -> tensor<3x7xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = stablehlo.transpose %y, dims = [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<3x2xf32>, tensor<3x5xf32>) -> tensor<3x7xf32>
  return %r : tensor<3x7xf32>
}

// leaves concatenate, reverse
func.func @concatenate_of_moves__reversed(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %a = stablehlo.reverse %x, dims = [0] : tensor<2xf32>
  %b = stablehlo.reverse %y, dims = [0] : tensor<3xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves concatenate, broadcast_in_dim
func.func @concatenate_of_moves__repeated(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<4x5xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

// leaves concatenate, pad
func.func @concatenate_of_moves__padded(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>, %c: tensor<f32>) -> tensor<3x8xf32> {
  %a = stablehlo.pad %x, %c, low = [0, 1], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x8xf32>
  %b = stablehlo.pad %y, %c, low = [0, 1], high = [0, 2], interior = [0, 1] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x8xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// keeps
func.func @parts_that_are_padded_where_they_are_joined(%x: tensor<2xf32>, %y: tensor<3xf32>, %c: tensor<f32>) -> tensor<7xf32> {
  %a = stablehlo.pad %x, %c, low = [1], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  %b = stablehlo.pad %y, %c, low = [1], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// keeps
func.func @parts_that_are_transposed_differently(%x: tensor<2x3x3xf32>, %y: tensor<3x3x2xf32>) -> tensor<3x3x4xf32> {
  %a = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<2x3x3xf32>) -> tensor<3x3x2xf32>
  %b = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<3x3x2xf32>) -> tensor<3x3x2xf32>
  %r = stablehlo.concatenate %a, %b, dim = 2 : (tensor<3x3x2xf32>, tensor<3x3x2xf32>) -> tensor<3x3x4xf32>
  return %r : tensor<3x3x4xf32>
}

// leaves pad
func.func @pad_of_reshape(%x: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<4x6xf32> {
  %a = stablehlo.reshape %x : (tensor<4x3xf32>) -> tensor<4x1x3xf32>
  %b = stablehlo.pad %a, %c, low = [0, 0, 1], high = [0, 0, 2], interior = [0, 0, 0] : (tensor<4x1x3xf32>, tensor<f32>) -> tensor<4x1x6xf32>
  %r = stablehlo.reshape %b : (tensor<4x1x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// leaves pad, reshape
func.func @pad_of_reshape__next_to_rows(%x: tensor<4x3x3xf32>, %c: tensor<f32>) -> tensor<12x7xf32> {
  %p = stablehlo.pad %x, %c, low = [0, 0, 1], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<4x3x3xf32>, tensor<f32>) -> tensor<4x3x5xf32>
  %a = stablehlo.reshape %p : (tensor<4x3x5xf32>) -> tensor<12x5xf32>
  %b = stablehlo.pad %a, %c, low = [0, 0], high = [0, 2], interior = [0, 0] : (tensor<12x5xf32>, tensor<f32>) -> tensor<12x7xf32>
  return %b : tensor<12x7xf32>
}

// keeps
func.func @pad_of_reshape_that_meets_nothing(%x: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<4x1x6xf32> {
  %a = stablehlo.reshape %x : (tensor<4x3xf32>) -> tensor<4x1x3xf32>
  %b = stablehlo.pad %a, %c, low = [0, 0, 1], high = [0, 0, 2], interior = [0, 0, 0] : (tensor<4x1x3xf32>, tensor<f32>) -> tensor<4x1x6xf32>
  return %b : tensor<4x1x6xf32>
}

// keeps
func.func @pad_of_new_axis(%x: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<4x2x3xf32> {
  %a = stablehlo.reshape %x : (tensor<4x3xf32>) -> tensor<4x1x3xf32>
  %b = stablehlo.pad %a, %c, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<4x1x3xf32>, tensor<f32>) -> tensor<4x2x3xf32>
  return %b : tensor<4x2x3xf32>
}

// keeps
func.func @pad_of_merged_axes(%x: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<13xf32> {
  %a = stablehlo.reshape %x : (tensor<4x3xf32>) -> tensor<12xf32>
  %b = stablehlo.pad %a, %c, low = [0], high = [1], interior = [0] : (tensor<12xf32>, tensor<f32>) -> tensor<13xf32>
  return %b : tensor<13xf32>
}

// keeps
func.func @concatenate_of_pads_with_two_numbers(%x: tensor<4x3xf32>, %y: tensor<4x2xf32>, %c: tensor<f32>, %d: tensor<f32>) -> tensor<6x5xf32> {
  %a = stablehlo.pad %x, %c, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<6x3xf32>
  %b = stablehlo.pad %y, %d, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<6x2xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<6x3xf32>, tensor<6x2xf32>) -> tensor<6x5xf32>
  return %r : tensor<6x5xf32>
}

// leaves concatenate, reshape
func.func @concatenate_of_reshapes(%x: tensor<2x3x4xf32>, %y: tensor<2x3x5xf32>) -> tensor<6x1x9xf32> {
  %a = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x1x4xf32>
  %b = stablehlo.reshape %y : (tensor<2x3x5xf32>) -> tensor<6x1x5xf32>
  %r = stablehlo.concatenate %a, %b, dim = 2 : (tensor<6x1x4xf32>, tensor<6x1x5xf32>) -> tensor<6x1x9xf32>
  return %r : tensor<6x1x9xf32>
}

// keeps
func.func @concatenate_of_reshapes_along_a_new_axis(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x2x4xf32> {
  %a = stablehlo.reshape %x : (tensor<3x4xf32>) -> tensor<3x1x4xf32>
  %b = stablehlo.reshape %y : (tensor<3x4xf32>) -> tensor<3x1x4xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<3x1x4xf32>, tensor<3x1x4xf32>) -> tensor<3x2x4xf32>
  return %r : tensor<3x2x4xf32>
}

// keeps
func.func @concatenate_of_reshapes_of_other_shapes(%x: tensor<2x3x4xf32>, %y: tensor<3x2x5xf32>) -> tensor<6x9xf32> {
  %a = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %b = stablehlo.reshape %y : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<6x4xf32>, tensor<6x5xf32>) -> tensor<6x9xf32>
  return %r : tensor<6x9xf32>
}

// leaves concatenate, reshape
func.func @concatenate_of_reshapes__and_one_element(%x: tensor<3x1xf32>, %y: tensor<3x5xf32>) -> tensor<3x1x6xf32> {
  %a = stablehlo.reshape %x : (tensor<3x1xf32>) -> tensor<3x1x1xf32>
  %b = stablehlo.reshape %y : (tensor<3x5xf32>) -> tensor<3x1x5xf32>
  %r = stablehlo.concatenate %a, %b, dim = 2 : (tensor<3x1x1xf32>, tensor<3x1x5xf32>) -> tensor<3x1x6xf32>
  return %r : tensor<3x1x6xf32>
}

// leaves slice, concatenate
func.func @concatenate_of_neighbors(%x: tensor<8xf32>, %y: tensor<3xf32>) -> tensor<6xf32> {
  %0 = stablehlo.slice %x [0:3:2] : (tensor<8xf32>) -> tensor<2xf32>
  %1 = stablehlo.slice %x [4:5] : (tensor<8xf32>) -> tensor<1xf32>
  %r = stablehlo.concatenate %y, %0, %1, dim = 0 : (tensor<3xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves slice
func.func @concatenate_of_neighbors(%x: tensor<12xf32>) -> tensor<5xf32> {
  // The stride and the limit of one element mean nothing.
  %0 = stablehlo.slice %x [0:4] : (tensor<12xf32>) -> tensor<4xf32>
  %1 = stablehlo.slice %x [4:9:5] : (tensor<12xf32>) -> tensor<1xf32>
  %r = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}
