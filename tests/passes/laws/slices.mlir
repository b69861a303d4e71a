// leaves slice, slice, add
func.func @slice_of_elementwise(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  %r = stablehlo.slice %0 [1:3] : (tensor<8xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves constant, dynamic_slice, multiply
func.func @slice_of_elementwise__dynamic(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<8xf32>
  %0 = stablehlo.multiply %x, %c : tensor<8xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves slice, slice, select
func.func @slice_of_elementwise__selected(%p: tensor<i1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<2xf32> {
  %0 = stablehlo.select %p, %x, %y : tensor<i1>, tensor<8xf32>
  %r = stablehlo.slice %0 [1:3] : (tensor<8xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves slice, broadcast_in_dim
func.func @slice_of_broadcast(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<5x4xf32>
  %r = stablehlo.slice %0 [1:3, 0:4:2] : (tensor<5x4xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// leaves slice, transpose
func.func @slice_of_transpose(%x: tensor<4x5xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %r = stablehlo.slice %0 [1:3, 1:4] : (tensor<5x4xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves constant, slice, pad
func.func @slice_of_pad(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [2], high = [3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %r = stablehlo.slice %0 [0:4] : (tensor<9xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves slice
func.func @slice_of_pad__within(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<3xf32> {
  %0 = stablehlo.pad %x, %c, low = [2], high = [3], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<12xf32>
  %r = stablehlo.slice %0 [2:8:2] : (tensor<12xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// leaves broadcast_in_dim
func.func @slice_of_pad__only_padding(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<3xf32> {
  %0 = stablehlo.pad %x, %c, low = [2], high = [3], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<12xf32>
  %r = stablehlo.slice %0 [3:9:2] : (tensor<12xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// leaves slice, reshape
func.func @slice_of_reshape(%x: tensor<6x4xf32>) -> tensor<8xf32> {
  %0 = stablehlo.reshape %x : (tensor<6x4xf32>) -> tensor<24xf32>
  %r = stablehlo.slice %0 [4:12] : (tensor<24xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// leaves slice, reshape
func.func @slice_of_reshape__beside_a_unit_dimension(%x: tensor<6x4xf32>) -> tensor<2x1x2xf32> {
  %0 = stablehlo.reshape %x : (tensor<6x4xf32>) -> tensor<6x1x4xf32>
  %r = stablehlo.slice %0 [0:6:3, 0:1, 1:3] : (tensor<6x1x4xf32>) -> tensor<2x1x2xf32>
  return %r : tensor<2x1x2xf32>
}

// leaves iota
func.func @slice_of_iota() -> tensor<3x20xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<40x40xi32>
  %r = stablehlo.slice %0 [0:3, 0:40:2] : (tensor<40x40xi32>) -> tensor<3x20xi32>
  return %r : tensor<3x20xi32>
}

// leaves slice, slice, concatenate
func.func @slice_of_concatenate(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  %r = stablehlo.slice %0 [2:6] : (tensor<12xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @slice_of_concatenate__of_one_part(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %r = stablehlo.slice %0 [4:8] : (tensor<8xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, slice, reduce
func.func @slice_of_reduce(%x: tensor<8x4xf32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.slice %0 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// leaves slice, slice, dot_general
func.func @slice_of_dot(%x: tensor<2x6x3xi32>, %y: tensor<2x3x4xi32>) -> tensor<1x3x2xi32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x6x3xi32>, tensor<2x3x4xi32>) -> tensor<2x6x4xi32>
  %r = stablehlo.slice %0 [1:2, 0:3, 2:4] : (tensor<2x6x4xi32>) -> tensor<1x3x2xi32>
  return %r : tensor<1x3x2xi32>
}

// leaves constant, dynamic_slice
func.func @slice_within_slice(%x: tensor<8x8xf32>, %i: tensor<i32>) -> tensor<2x3xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 8] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
  %r = stablehlo.slice %0 [0:2, 4:7] : (tensor<2x8xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves broadcast_in_dim
func.func @slice_of_broadcast__dynamic(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2x8xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %r = stablehlo.dynamic_slice %0, %i, %i, sizes = [2, 8] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// leaves dynamic_slice, transpose
func.func @slice_of_transpose__dynamic(%x: tensor<8x6xf32>, %i: tensor<i32>) -> tensor<2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %r = stablehlo.dynamic_slice %0, %i, %i, sizes = [2, 3] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves constant, dynamic_slice
func.func @slice_within_slice__dynamic(%x: tensor<8x6xf32>, %i: tensor<i32>) -> tensor<2x3xf32> {
  %0 = stablehlo.slice %x [0:8, 2:5] : (tensor<8x6xf32>) -> tensor<8x3xf32>
  %r = stablehlo.dynamic_slice %0, %i, %i, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves dynamic_slice
func.func @slice_within_slice__twice_dynamic(%x: tensor<8x6xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x3xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  %r = stablehlo.dynamic_slice %0, %i, %j, sizes = [2, 3] : (tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// keeps
func.func @what_is_read_as_a_whole_is_computed_as_a_whole(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  %0 = stablehlo.negate %x : tensor<8xf32>
  %r = stablehlo.slice %0 [1:3] : (tensor<8xf32>) -> tensor<2xf32>
  return %0, %r : tensor<8xf32>, tensor<2xf32>
}

// keeps
func.func @three_slices_of_almost_all_cost_more_than_one(%p: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<7xf32> {
  %0 = stablehlo.select %p, %x, %y : tensor<8xi1>, tensor<8xf32>
  %r = stablehlo.slice %0 [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// keeps
func.func @of_a_reshape_part_of_a_row_is_no_slice(%x: tensor<6x4xf32>) -> tensor<6xf32> {
  %0 = stablehlo.reshape %x : (tensor<6x4xf32>) -> tensor<24xf32>
  %r = stablehlo.slice %0 [2:8] : (tensor<24xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @two_cuts_of_one_dimension_are_clamped_one_after_the_other(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.slice %x [1:7] : (tensor<8xf32>) -> tensor<6xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [2] : (tensor<6xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @two_cuts_of_one_dimension_may_be_clamped(%x: tensor<8x4xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x2xf32> {
  %0 = stablehlo.slice %x [2:6, 1:4] : (tensor<8x4xf32>) -> tensor<4x3xf32>
  %r = stablehlo.dynamic_slice %0, %i, %j, sizes = [2, 2] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// keeps
func.func @a_start_that_the_type_of_the_others_does_not_hold(%x: tensor<300x8xf32>, %i: tensor<i8>) -> tensor<2x2xf32> {
  %z = stablehlo.constant dense<0> : tensor<i8>
  %0 = stablehlo.slice %x [200:202, 0:8] : (tensor<300x8xf32>) -> tensor<2x8xf32>
  %r = stablehlo.dynamic_slice %0, %z, %i, sizes = [2, 2] : (tensor<2x8xf32>, tensor<i8>, tensor<i8>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// leaves constant, constant, constant, clamp, clamp, add, dynamic_slice
func.func @slice_within_slice__of_one_dimension(%x: tensor<12x2xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<1x2xf32> {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %k = stablehlo.constant dense<8> : tensor<i32>
  %m = stablehlo.constant dense<3> : tensor<i32>
  %a = stablehlo.clamp %0, %i, %k : tensor<i32>
  %b = stablehlo.clamp %0, %j, %m : tensor<i32>
  %c = stablehlo.dynamic_slice %x, %a, %0, sizes = [4, 2] : (tensor<12x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
  %r = stablehlo.dynamic_slice %c, %b, %0, sizes = [1, 2] : (tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}

// leaves constant, constant, constant, clamp, add, dynamic_slice
func.func @slice_within_slice__after_a_known_start(%x: tensor<12xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.constant dense<2> : tensor<i32>
  %a = stablehlo.clamp %0, %i, %3 : tensor<i32>
  %c = stablehlo.slice %x [5:10] : (tensor<12xf32>) -> tensor<5xf32>
  %r = stablehlo.dynamic_slice %c, %a, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves slice, reshape
func.func @slice_of_reshape__with_a_stride_along_a_unit_dimension(%x: tensor<4xf32>) -> tensor<1x2xf32> {
  %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
  %r = stablehlo.slice %0 [0:1:2, 1:3] : (tensor<1x4xf32>) -> tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}

// leaves reshape
func.func @slice_of_reshape__of_one_number(%x: tensor<f32>) -> tensor<1x1xf32> {
  %0 = stablehlo.reshape %x : (tensor<f32>) -> tensor<1x1xf32>
  %r = stablehlo.slice %0 [0:1:2, 0:1] : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}

// leaves dynamic_slice, broadcast_in_dim
func.func @slice_of_broadcast__dynamic_and_cut(%x: tensor<6xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<6xf32>) -> tensor<6x5xf32>
  %r = stablehlo.dynamic_slice %0, %i, %j, sizes = [2, 3] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves constant, dynamic_slice, reshape
func.func @dynamic_slice_of_reshape(%x: tensor<6x2x3xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x1x6xf32> {
  %0 = stablehlo.reshape %x : (tensor<6x2x3xf32>) -> tensor<6x1x6xf32>
  %r = stablehlo.dynamic_slice %0, %i, %j, %j, sizes = [2, 1, 6] : (tensor<6x1x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x6xf32>
  return %r : tensor<2x1x6xf32>
}

// keeps
func.func @a_reshape_that_merges_what_a_dynamic_slice_cuts(%x: tensor<3x2xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.reshape %x : (tensor<3x2xf32>) -> tensor<6xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [4] : (tensor<6xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @a_dynamic_part_of_a_reversed_dimension(%x: tensor<6xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<6xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [2] : (tensor<6xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @a_dynamic_part_of_a_padded_dimension(%x: tensor<6xf32>, %c: tensor<f32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.pad %x, %c, low = [1], high = [0], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<7xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [2] : (tensor<7xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @a_dynamic_part_may_be_of_either_operand(%x: tensor<3xf32>, %y: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3xf32>, tensor<2xf32>) -> tensor<5xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves constant, dynamic_slice, reduce
func.func @slice_of_reduce__dynamic(%x: tensor<6x3x5xi32>, %c: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x4xi32> {
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<6x3x5xi32>, tensor<i32>) -> tensor<6x5xi32>
  %r = stablehlo.dynamic_slice %0, %i, %j, sizes = [2, 4] : (tensor<6x5xi32>, tensor<i32>, tensor<i32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}

// keeps
func.func @a_dynamic_part_of_most_sums(%x: tensor<6x3xi32>, %c: tensor<i32>, %i: tensor<i32>) -> tensor<4xi32> {
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<6x3xi32>, tensor<i32>) -> tensor<6xi32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [4] : (tensor<6xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, dynamic_slice, dynamic_slice, dot_general
func.func @slice_of_dot__dynamic(%x: tensor<4x6x3xi32>, %y: tensor<3x5x4xi32>, %i: tensor<i32>, %j: tensor<i32>, %k: tensor<i32>) -> tensor<1x2x3xi32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [2], contracting_dims = [2] x [0] : (tensor<4x6x3xi32>, tensor<3x5x4xi32>) -> tensor<4x6x5xi32>
  %r = stablehlo.dynamic_slice %0, %i, %j, %k, sizes = [1, 2, 3] : (tensor<4x6x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xi32>
  return %r : tensor<1x2x3xi32>
}

// leaves constant, dynamic_slice, dot_general
func.func @slice_of_dot__dynamic_of_one_side(%x: tensor<6x3xi32>, %y: tensor<3x5xi32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<1x5xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<6x3xi32>, tensor<3x5xi32>) -> tensor<6x5xi32>
  %r = stablehlo.dynamic_slice %0, %i, %j, sizes = [1, 5] : (tensor<6x5xi32>, tensor<i32>, tensor<i32>) -> tensor<1x5xi32>
  return %r : tensor<1x5xi32>
}

// keeps
func.func @a_product_of_which_more_than_a_dynamic_part_is_read(%x: tensor<6x3xi32>, %y: tensor<3x5xi32>, %i: tensor<i32>) -> (tensor<1x1xi32>, tensor<6x5xi32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<6x3xi32>, tensor<3x5xi32>) -> tensor<6x5xi32>
  %r = stablehlo.dynamic_slice %0, %i, %i, sizes = [1, 1] : (tensor<6x5xi32>, tensor<i32>, tensor<i32>) -> tensor<1x1xi32>
  return %r, %0 : tensor<1x1xi32>, tensor<6x5xi32>
}

// leaves slice, reverse
func.func @slice_of_reverse(%x: tensor<9xf32>) -> tensor<3xf32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<9xf32>
  %r = stablehlo.slice %0 [1:7:2] : (tensor<9xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
