// leaves constant, reshape, add
func.func @reduce_of_unit_dimensions(%x: tensor<4x1xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, constant, reshape, reshape, compare, select, select
func.func @reduce_of_unit_dimensions__of_two_arrays(%x: tensor<4x1xf32>, %y: tensor<4x1xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %d = stablehlo.constant dense<7> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %c), (%y init: %d) across dimensions = [1] : (tensor<4x1xf32>, tensor<4x1xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %a, %b : tensor<i1>, tensor<f32>
    %2 = stablehlo.select %0, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
}

// leaves constant, constant, reshape, maximum, broadcast_in_dim, add, add
func.func @reduce_of_unit_dimensions__with_a_constant_inside(%x: tensor<4x1xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %k = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = stablehlo.maximum %b, %k : tensor<f32>
    %1 = stablehlo.add %0, %y : tensor<f32>
    %2 = stablehlo.add %1, %a : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  return %r : tensor<4xf32>
}

// keeps
func.func @a_map_that_computes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<f32>):
    %0 = stablehlo.sine %a : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @a_reduction_that_returns_one_of_its_elements(%x: tensor<4x3xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  %r = stablehlo.reduce(%x init: %y) across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    stablehlo.return %b : tensor<f32>
  }
  return %r : tensor<4xf32>
}

// leaves reshape
func.func @reduce_of_unit_dimensions__neutral(%x: tensor<4x1xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.multiply across dimensions = [1] : (tensor<4x1xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, negate, reduce
func.func @reduce_of_pad(%x: tensor<4x2xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 1], high = [0, 2], interior = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x6xf32>
  %1 = stablehlo.negate %0 : tensor<4x6xf32>
  %r = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, reduce, pad
func.func @reduce_of_pad__kept(%x: tensor<4x2xi32>) -> tensor<5xi32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %z = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.pad %x, %c, low = [1, 1], high = [0, 2], interior = [0, 1] : (tensor<4x2xi32>, tensor<i32>) -> tensor<5x6xi32>
  %r = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<5x6xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// keeps
func.func @a_sum_that_begins_with_0_0_is_0_0_with_a_padded_0_0(%x: tensor<4xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  %r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @a_padded_1_takes_part_in_the_largest_element(%x: tensor<4xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  %r = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// leaves broadcast_in_dim
func.func @reduce_of_nothing(%x: tensor<4x0xf32>, %c: tensor<f32>) -> tensor<4xf32> {
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x0xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves broadcast_in_dim, broadcast_in_dim, xor, reduce
func.func @reduce_across_broadcasts(%x: tensor<256xi32>, %y: tensor<2xi32>, %c: tensor<i32>) -> tensor<256xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<256xi32>) -> tensor<256x2xi32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<2xi32>) -> tensor<256x2xi32>
  %2 = stablehlo.xor %0, %1 : tensor<256x2xi32>
  %r = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<256x2xi32>, tensor<i32>) -> tensor<256xi32>
  return %r : tensor<256xi32>
}

// keeps
func.func @a_reduction_of_broadcasts_with_few_results(%x: tensor<64xi32>, %y: tensor<3xi32>, %c: tensor<i32>) -> tensor<64xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<64xi32>) -> tensor<64x3xi32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<3xi32>) -> tensor<64x3xi32>
  %2 = stablehlo.xor %0, %1 : tensor<64x3xi32>
  %r = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<64x3xi32>, tensor<i32>) -> tensor<64xi32>
  return %r : tensor<64xi32>
}

// leaves reduce
func.func @reduce_of_reshape(%x: tensor<6x4xi32>, %c: tensor<i32>) -> tensor<4xi32> {
  %0 = stablehlo.reshape %x : (tensor<6x4xi32>) -> tensor<2x3x4xi32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, reduce
func.func @reduce_of_reduce(%x: tensor<6x4xi32>, %c: tensor<i32>) -> tensor<i32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6x4xi32>, tensor<i32>) -> tensor<4xi32>
  %r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves constant, reduce, broadcast_in_dim
func.func @reduce_before_broadcast(%x: tensor<5xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<5xf32>) -> tensor<5x4xf32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves reshape, reduce, broadcast_in_dim
func.func @reduce_before_broadcast__between_others(%x: tensor<3x1x5xf32>, %y: tensor<f32>) -> tensor<3x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2] : (tensor<3x1x5xf32>) -> tensor<3x4x5xf32>
  %r = stablehlo.reduce(%0 init: %y) across dimensions = [2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<3x4xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %1 = stablehlo.multiply %a, %a : tensor<f32>
    %2 = stablehlo.add %1, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  return %r : tensor<3x4xf32>
}

// keeps
func.func @sums_of_floats_that_are_repeated_round_each_time(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<5xf32>) -> tensor<5x3xf32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves reduce
func.func @reduce_of_broadcast(%x: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<4x3xf32>) -> tensor<4x5x3xf32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x5x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// keeps
func.func @a_sum_of_repeated_elements_counts_them(%x: tensor<4xi32>, %c: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xi32>) -> tensor<4x5xi32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x5xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// keeps
func.func @a_sum_that_begins_with_1_each_time_is_no_single_sum(%x: tensor<6x4xi32>) -> tensor<i32> {
  %z = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6x4xi32>, tensor<i32>) -> tensor<4xi32>
  %r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// keeps
func.func @part_of_a_merged_dimension_is_reduced(%x: tensor<6x4xi32>, %c: tensor<i32>) -> tensor<3x4xi32> {
  %0 = stablehlo.reshape %x : (tensor<6x4xi32>) -> tensor<2x3x4xi32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}

// leaves constant
func.func @reduce_of_splat() -> tensor<4xf32> {
  %x = stablehlo.constant dense<3.0> : tensor<4x100xf32>
  %c = stablehlo.constant dense<-0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x100xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, add
func.func @reduce_of_splat__that_wraps(%c: tensor<i32>) -> tensor<i32> {
  %x = stablehlo.constant dense<2000000000> : tensor<3xi32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves constant, maximum
func.func @reduce_of_splat__largest(%c: tensor<f32>) -> tensor<f32> {
  %x = stablehlo.constant dense<0.3> : tensor<4x9xf32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x9xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @a_sum_of_fractions_depends_on_its_order(%c: tensor<f32>) -> tensor<f32> {
  %x = stablehlo.constant dense<0.3> : tensor<1000xf32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @parts_of_several_rows_are_reduced(%x: tensor<2x4xf32>, %y: tensor<1x4xf32>, %c: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  %r = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @the_first_column_where_the_diagonal_was(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %0 = stablehlo.slice %x [0:4, 0:1] : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x1xf32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
  %i = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %j = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %3 = stablehlo.compare EQ, %i, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %r = stablehlo.select %3, %2, %c : tensor<4x4xi1>, tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// leaves constant, reshape, slice, add
func.func @sum_of_selected_diagonal(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %1 = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %3 = stablehlo.select %2, %x, %z : tensor<4x4xi1>, tensor<4x4xf32>
  %r = stablehlo.reduce(%3 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, constant, reshape, slice, add, pad
func.func @sum_of_selected_diagonal__above(%x: tensor<2x3x5xf32>) -> tensor<2x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<2x3x5xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.constant dense<3> : tensor<3x5xi32>
  %0 = stablehlo.iota dim = 0 : tensor<3x5xi32>
  %1 = stablehlo.add %0, %k : tensor<3x5xi32>
  %2 = stablehlo.iota dim = 1 : tensor<3x5xi32>
  %3 = stablehlo.compare EQ, %1, %2 : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1, 2] : (tensor<3x5xi1>) -> tensor<2x3x5xi1>
  %5 = stablehlo.select %4, %x, %z : tensor<2x3x5xi1>, tensor<2x3x5xf32>
  %r = stablehlo.reduce(%5 init: %c) applies stablehlo.add across dimensions = [2] : (tensor<2x3x5xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves constant, constant, reshape, slice, add, reduce
func.func @sum_of_selected_diagonal__and_of_all(%x: tensor<3x5xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<3x5xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.constant dense<-1> : tensor<3x5xi32>
  %0 = stablehlo.iota dim = 0 : tensor<3x5xi32>
  %1 = stablehlo.add %0, %k : tensor<3x5xi32>
  %2 = stablehlo.iota dim = 1 : tensor<3x5xi32>
  %3 = stablehlo.compare EQ, %1, %2 : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %4 = stablehlo.select %3, %x, %z : tensor<3x5xi1>, tensor<3x5xf32>
  %r = stablehlo.reduce(%4 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @a_sum_of_a_triangle_is_a_sum(%x: tensor<40x40xf32>) -> tensor<40xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<40x40xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.iota dim = 0 : tensor<40x40xi32>
  %1 = stablehlo.iota dim = 1 : tensor<40x40xi32>
  %2 = stablehlo.compare GE, %0, %1 : (tensor<40x40xi32>, tensor<40x40xi32>) -> tensor<40x40xi1>
  %3 = stablehlo.select %2, %x, %z : tensor<40x40xi1>, tensor<40x40xf32>
  %r = stablehlo.reduce(%3 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<40x40xf32>, tensor<f32>) -> tensor<40xf32>
  return %r : tensor<40xf32>
}

// leaves constant, constant, reduce, multiply
func.func @sum_of_repeated(%x: tensor<5xi8>) -> tensor<i8> {
  %c = stablehlo.constant dense<0> : tensor<i8>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<5xi8>) -> tensor<300x5xi8>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<300x5xi8>, tensor<i8>) -> tensor<i8>
  return %r : tensor<i8>
}

// leaves constant, multiply
func.func @sum_of_repeated__alone(%x: tensor<5xi32>) -> tensor<5xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<5xi32>) -> tensor<3x5xi32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3x5xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// keeps
func.func @a_sum_of_repeated_floats(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// keeps
func.func @a_reduce_along_another_dimension_than_arrays_are_joined(%x: tensor<2x5000xi32>, %y: tensor<2x4000xi32>) -> tensor<9000xi32> {
  %c = stablehlo.constant dense<-2147483648> : tensor<i32>
  %b = stablehlo.concatenate %x, %y, dim = 1 : (tensor<2x5000xi32>, tensor<2x4000xi32>) -> tensor<2x9000xi32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<2x9000xi32>, tensor<i32>) -> tensor<9000xi32>
  return %r : tensor<9000xi32>
}

// keeps
func.func @a_reduce_of_small_arrays(%x: tensor<500xi32>, %y: tensor<400xi32>) -> tensor<i32> {
  %c = stablehlo.constant dense<-2147483648> : tensor<i32>
  %b = stablehlo.concatenate %x, %y, dim = 0 : (tensor<500xi32>, tensor<400xi32>) -> tensor<900xi32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<900xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves constant, constant, reduce, multiply
func.func @extreme_of_monotone(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4x6xf32>
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.multiply %x, %c : tensor<4x6xf32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, constant, reduce, subtract
func.func @extreme_of_monotone__that_falls(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x6xf32>
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.subtract %c, %x : tensor<4x6xf32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, reduce, floor, negate
func.func @extreme_of_monotone__twice(%x: tensor<4x6xf32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %0 = stablehlo.floor %x : tensor<4x6xf32>
  %1 = stablehlo.negate %0 : tensor<4x6xf32>
  %r = stablehlo.reduce(%1 init: %i) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// leaves constant, reduce, not
func.func @extreme_of_monotone__of_booleans(%p: tensor<6xi1>) -> tensor<i1> {
  %i = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.not %p : tensor<6xi1>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.and across dimensions = [0] : (tensor<6xi1>, tensor<i1>) -> tensor<i1>
  return %r : tensor<i1>
}

// leaves constant, reduce, convert
func.func @extreme_of_monotone__of_converted_booleans(%p: tensor<6xi1>) -> tensor<i32> {
  %i = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.convert %p : (tensor<6xi1>) -> tensor<6xi32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves constant, constant, reduce, clamp
func.func @extreme_of_monotone__clamped(%x: tensor<6xf32>, %a: tensor<f32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// leaves constant, abs, reduce, sqrt
func.func @extreme_of_monotone__of_a_root(%x: tensor<6xf32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.abs %x : tensor<6xf32>
  %1 = stablehlo.sqrt %0 : tensor<6xf32>
  %r = stablehlo.reduce(%1 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @a_root_is_nan_for_some_numbers(%x: tensor<6xf32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.sqrt %x : tensor<6xf32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @the_smallest_integer_is_its_own_negation(%x: tensor<6xi32>) -> tensor<i32> {
  %i = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.negate %x : tensor<6xi32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// keeps
func.func @sums_of_integers_wrap(%x: tensor<6xi32>) -> tensor<i32> {
  %i = stablehlo.constant dense<-2147483648> : tensor<i32>
  %c = stablehlo.constant dense<5> : tensor<6xi32>
  %0 = stablehlo.add %x, %c : tensor<6xi32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// keeps
func.func @zero_times_infinity_is_no_extreme(%x: tensor<6xf32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0x7F800000> : tensor<6xf32>
  %0 = stablehlo.multiply %x, %c : tensor<6xf32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @an_extreme_that_begins_with_another_number(%x: tensor<6xf32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<3.0> : tensor<6xf32>
  %0 = stablehlo.multiply %x, %c : tensor<6xf32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// keeps
func.func @numbers_that_are_not_numbers_convert_to_0(%x: tensor<6xf32>) -> tensor<i32> {
  %i = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<6xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves reshape, broadcast_in_dim, maximum
func.func @reduce_of_broadcast__of_a_row(%x: tensor<1x6xf32>, %c: tensor<f32>) -> tensor<6xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<4x6xf32>) -> tensor<4x3x6xf32>
  %r = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x3x6xf32>, tensor<f32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves constant, reduce, reduce, maximum
func.func @reduce_of_concatenate(%x: tensor<2x5000xi32>, %y: tensor<2x4000xi32>) -> tensor<2xi32> {
  %c = stablehlo.constant dense<-2147483648> : tensor<i32>
  %b = stablehlo.concatenate %x, %y, dim = 1 : (tensor<2x5000xi32>, tensor<2x4000xi32>) -> tensor<2x9000xi32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<2x9000xi32>, tensor<i32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// leaves constant, multiply, reduce, multiply, reduce, add
func.func @reduce_of_concatenate__of_squares(%x: tensor<5000xf32>, %y: tensor<4000xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.concatenate %x, %y, dim = 0 : (tensor<5000xf32>, tensor<4000xf32>) -> tensor<9000xf32>
  %s = stablehlo.multiply %b, %b : tensor<9000xf32>
  %r = stablehlo.reduce(%s init: %c) applies stablehlo.add across dimensions = [0] : (tensor<9000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
