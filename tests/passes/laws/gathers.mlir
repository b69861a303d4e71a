// leaves constant
func.func @gather_of_splat(%i: tensor<3x1xi32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<400x2xf32>
  %r = "stablehlo.gather"(%c, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<400x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves slice, reverse
func.func @gather_at_known_indices(%x: tensor<6x2xf32>) -> tensor<3x2xf32> {
  %i = stablehlo.constant dense<[[5], [3], [1]]> : tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<6x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves reshape, slice
func.func @gather_at_known_indices__of_a_diagonal(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %r = "stablehlo.gather"(%x, %0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves reshape
func.func @gather_at_known_indices__of_blocks(%x: tensor<6xf32>) -> tensor<2x3xf32> {
  %c = stablehlo.constant dense<3> : tensor<2x3x1xi32>
  %0 = stablehlo.iota dim = 0 : tensor<2x3x1xi32>
  %1 = stablehlo.iota dim = 1 : tensor<2x3x1xi32>
  %2 = stablehlo.multiply %0, %c : tensor<2x3x1xi32>
  %3 = stablehlo.add %2, %1 : tensor<2x3x1xi32>
  %r = "stablehlo.gather"(%x, %3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<2x3x1xi32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves slice, slice, concatenate
func.func @gather_at_known_indices__of_a_rotation(%x: tensor<6xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[4], [5], [0], [1], [2], [3]]> : tensor<6x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<6x1xi32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves slice, reshape, broadcast_in_dim
func.func @gather_at_known_indices__out_of_range(%x: tensor<6x2xf32>) -> tensor<3x2xf32> {
  // All of them are clamped to the last row.
  %i = stablehlo.constant dense<[[7], [5], [9]]> : tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<6x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves reshape, slice, slice, concatenate
func.func @gather_at_known_indices__of_batches(%x: tensor<5x3xf32>) -> tensor<5xf32> {
  %i = stablehlo.constant dense<[[-2], [1], [4], [1], [5]]> : tensor<5x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x3xf32>, tensor<5x1xi32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, reshape, dynamic_slice, reshape
func.func @gather_of_one_window(%x: tensor<6x4xf32>, %i: tensor<1x1xi32>) -> tensor<1x2x4xf32> {
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 4>}> : (tensor<6x4xf32>, tensor<1x1xi32>) -> tensor<1x2x4xf32>
  return %r : tensor<1x2x4xf32>
}

// keeps
func.func @windows_that_overlap_are_no_slice(%x: tensor<6xf32>) -> tensor<4x3xf32> {
  %i = stablehlo.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 3>}> : (tensor<6xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// keeps
func.func @indices_without_order_are_no_slices(%x: tensor<6xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[4], [1], [0], [5], [1], [3]]> : tensor<6x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<6x1xi32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @another_array_is_gathered_in_sorted_order(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<6xi32>
  %1:2 = "stablehlo.sort"(%x, %0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  %2 = stablehlo.reshape %1#1 : (tensor<6xi32>) -> tensor<6x1xi32>
  %r = "stablehlo.gather"(%y, %2) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<6x1xi32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @a_gather_along_a_dimension_that_is_not_repeated(%x: tensor<5xf32>, %i: tensor<4x1xi32>) -> tensor<4x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<5xf32>) -> tensor<5x3xf32>
  %r = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}
