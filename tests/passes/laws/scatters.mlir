// leaves nothing
func.func @scatter_of_nothing(%x: tensor<6xf32>, %i: tensor<0x1xi32>, %u: tensor<0xf32>) -> tensor<6xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<0x1xi32>, tensor<0xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves nothing
func.func @scatter_of_nothing__in_the_array(%x: tensor<6xf32>, %u: tensor<3xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[6], [-1], [9]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves constant, constant, dynamic_update_slice
func.func @scatter_at_known_indices(%x: tensor<6x2xf32>, %u: tensor<3x2xf32>) -> tensor<6x2xf32> {
  %i = stablehlo.constant dense<[[1], [2], [3]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

// leaves constant, slice, add, dynamic_update_slice
func.func @scatter_at_known_indices__of_sums(%x: tensor<6x2xf32>, %u: tensor<3x2xf32>) -> tensor<6x2xf32> {
  %i = stablehlo.iota dim = 0 : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

// leaves add
func.func @scatter_at_known_indices__of_all(%x: tensor<6xf32>, %u: tensor<6xf32>) -> tensor<6xf32> {
  %i = stablehlo.iota dim = 0 : tensor<6x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<6x1xi32>, tensor<6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves constant, constant, add, pad
func.func @scatter_at_known_indices__of_zeros(%u: tensor<3xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[0], [2], [4]]> : tensor<3x1xi32>
  %x = stablehlo.constant dense<0.0> : tensor<6xf32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves constant, reshape, reshape, dynamic_update_slice, reshape
func.func @scatter_at_known_indices__of_every_second(%x: tensor<6xf32>, %u: tensor<3xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[0], [2], [4]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves constant, constant, reverse, pad, add, select
func.func @scatter_at_known_indices__apart(%x: tensor<7xf32>, %u: tensor<3xf32>) -> tensor<7xf32> {
  %i = stablehlo.constant dense<[[5], [3], [1]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<7xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// leaves constant, constant, reshape, dynamic_slice, add, compare, compare, and, select, dynamic_update_slice
func.func @scatter_of_one_window(%x: tensor<6x2xf32>, %i: tensor<1x1xi32>, %u: tensor<1x2xf32>) -> tensor<6x2xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6x2xf32>, tensor<1x1xi32>, tensor<1x2xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

// leaves constant, constant, constant, clamp, reshape, dynamic_update_slice
func.func @scatter_of_one_window__in_range(%x: tensor<6x2xf32>, %j: tensor<1x1xi32>, %u: tensor<1x2xf32>) -> tensor<6x2xf32> {
  %low = stablehlo.constant dense<0> : tensor<1x1xi32>
  %high = stablehlo.constant dense<5> : tensor<1x1xi32>
  %i = stablehlo.clamp %low, %j, %high : tensor<1x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6x2xf32>, tensor<1x1xi32>, tensor<1x2xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

// keeps
func.func @an_element_that_is_written_twice_is_scattered(%x: tensor<6xf32>, %u: tensor<3xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[1], [1], [1]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @a_window_out_of_range_is_dropped(%x: tensor<6xf32>, %u: tensor<3xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[4], [5], [6]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @a_few_elements_far_apart_are_scattered(%x: tensor<99xf32>, %u: tensor<3xf32>) -> tensor<99xf32> {
  %i = stablehlo.constant dense<[[10], [20], [30]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<99xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<99xf32>
  return %r : tensor<99xf32>
}

// keeps
func.func @a_spare_row_that_may_be_written_stays(%x: tensor<6x2xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>) -> tensor<6x2xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<6x2xf32>, tensor<f32>) -> tensor<7x2xf32>
  %1 = "stablehlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<7x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<7x2xf32>
  %r = stablehlo.slice %1 [0:6, 0:2] : (tensor<7x2xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

// leaves constant, scatter
func.func @scatter_at_unique_indices(%x: tensor<40xf32>, %u: tensor<3xf32>) -> tensor<40xf32> {
  %i = stablehlo.constant dense<[[7], [1], [2]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<40xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<40xf32>
  return %r : tensor<40xf32>
}

// leaves iota, sort, reshape, scatter
func.func @scatter_at_unique_indices__of_a_sort(%x: tensor<6xf32>, %k: tensor<5xf32>, %u: tensor<5xf32>) -> tensor<6xf32> {
  %n = stablehlo.iota dim = 0 : tensor<5xi32>
  %o:2 = "stablehlo.sort"(%k, %n) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  %i = stablehlo.reshape %o#1 : (tensor<5xi32>) -> tensor<5x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @a_scatter_at_indices_of_which_two_are_equal(%x: tensor<40xf32>, %u: tensor<3xf32>) -> tensor<40xf32> {
  %i = stablehlo.constant dense<[[7], [1], [7]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<40xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<40xf32>
  return %r : tensor<40xf32>
}

// keeps
func.func @numbers_that_wrap_are_not_unique_in_the_order_of_a_sort(%x: tensor<400xf32>, %k: tensor<300xf32>, %u: tensor<300xf32>) -> tensor<400xf32> {
  %n = stablehlo.iota dim = 0 : tensor<300xui8>
  %o:2 = "stablehlo.sort"(%k, %n) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<ui8>, %d: tensor<ui8>):
    %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<300xf32>, tensor<300xui8>) -> (tensor<300xf32>, tensor<300xui8>)
  %w = stablehlo.convert %o#1 : (tensor<300xui8>) -> tensor<300xi32>
  %i = stablehlo.reshape %w : (tensor<300xi32>) -> tensor<300x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<400xf32>, tensor<300x1xi32>, tensor<300xf32>) -> tensor<400xf32>
  return %r : tensor<400xf32>
}
