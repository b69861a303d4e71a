// leaves nothing
func.func @log_of_exponential(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %r = stablehlo.log %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @exponential_of_log(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.log %x : tensor<4xf32>
  %r = stablehlo.exponential %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, log, multiply
func.func @log_of_root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sqrt %x : tensor<4xf32>
  %r = stablehlo.log %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @square_of_root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sqrt %x : tensor<4xf32>
  %r = stablehlo.multiply %0, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves sine, add, exponential
func.func @product_of_exponentials(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %s = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.exponential %s : tensor<4xf32>
  %r = stablehlo.multiply %0, %1 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, multiply
func.func @divide_by_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %r = stablehlo.divide %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves sqrt
func.func @divide_by_root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sqrt %x : tensor<4xf32>
  %r = stablehlo.divide %x, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @subtract_itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.subtract %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @divide_by_itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.divide %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @multiply_by_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.multiply %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @add_positive_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.add %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, add
func.func @reassociate_constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %d = stablehlo.constant dense<4.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %c : tensor<4xf32>
  %r = stablehlo.add %0, %d : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply, multiply
func.func @expand_power(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %r = stablehlo.power %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves abs
func.func @root_of_square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  %r = stablehlo.sqrt %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, add
func.func @fold_functions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.log %c : tensor<4xf32>
  %r = stablehlo.add %x, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves subtract
func.func @negated_difference(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.subtract %x, %y : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @subtract_part(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.add %x, %y : tensor<4xf32>
  %r = stablehlo.subtract %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves add, multiply
func.func @common_factor(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %y : tensor<4xf32>
  %b = stablehlo.multiply %z, %x : tensor<4xf32>
  %r = stablehlo.add %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply, divide
func.func @divide_twice(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.divide %x, %y : tensor<4xf32>
  %r = stablehlo.divide %a, %z : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply, divide
func.func @divide_twice__by_quotient(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.divide %x, %y : tensor<4xf32>
  %r = stablehlo.divide %z, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @divide_product_by_factor(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %y : tensor<4xf32>
  %r = stablehlo.divide %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves divide
func.func @multiply_quotient(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %a = stablehlo.divide %c, %x : tensor<4xf32>
  %r = stablehlo.multiply %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @multiply_quotient__back(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.divide %x, %y : tensor<4xf32>
  %r = stablehlo.multiply %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves sqrt
func.func @product_with_reciprocal_root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.rsqrt %x : tensor<4xf32>
  %r = stablehlo.multiply %x, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, divide
func.func @product_with_reciprocal_root__square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.rsqrt %x : tensor<4xf32>
  %r = stablehlo.multiply %a, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply, sqrt
func.func @product_of_roots(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.sqrt %x : tensor<4xf32>
  %b = stablehlo.sqrt %y : tensor<4xf32>
  %r = stablehlo.multiply %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @inverse_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.exponential_minus_one %x : tensor<4xf32>
  %r = stablehlo.log_plus_one %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves log_plus_one
func.func @log_of_one_more(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %a = stablehlo.add %x, %c : tensor<4xf32>
  %r = stablehlo.log %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves exponential_minus_one
func.func @exponential_less_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %a = stablehlo.exponential %x : tensor<4xf32>
  %r = stablehlo.subtract %a, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves log, negate
func.func @log_of_reciprocal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %a = stablehlo.divide %c, %x : tensor<4xf32>
  %r = stablehlo.log %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, multiply, exponential
func.func @power_of_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4xf32>
  %r = stablehlo.power %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply, multiply, multiply
func.func @power_of_known_exponent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<5.0> : tensor<4xf32>
  %r = stablehlo.power %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, multiply, multiply, divide
func.func @power_of_known_exponent__reciprocal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-3.0> : tensor<4xf32>
  %r = stablehlo.power %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves logistic
func.func @logistic(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %a = stablehlo.negate %x : tensor<4xf32>
  %b = stablehlo.exponential %a : tensor<4xf32>
  %s = stablehlo.add %b, %c : tensor<4xf32>
  %r = stablehlo.divide %c, %s : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves minimum
func.func @select_extreme(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves abs
func.func @select_abs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.compare LT, %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.select %a, %b, %x : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, compare, select
func.func @multiply_by_boolean(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %p = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %c = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %r = stablehlo.multiply %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves compare
func.func @compare_difference_with_zero(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.subtract %x, %y : tensor<4xf32>
  %r = stablehlo.compare LT, %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves dot_general, broadcast_in_dim, multiply
func.func @product_of_scaled(%x: tensor<2x9xf32>, %y: tensor<9x4xf32>, %s: tensor<f32>) -> tensor<2x4xf32> {
  %c = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x9xf32>
  %0 = stablehlo.multiply %x, %c : tensor<2x9xf32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<2x9xf32>, tensor<9x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// leaves constant, multiply, dot_general
func.func @product_of_scaled__both(%x: tensor<5x2xf32>, %y: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<5x2xf32>
  %0 = stablehlo.multiply %x, %c : tensor<5x2xf32>
  %d = stablehlo.constant dense<3.0> : tensor<2x4xf32>
  %1 = stablehlo.multiply %y, %d : tensor<2x4xf32>
  %r = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// leaves constant, dot_general, multiply
func.func @scaled_product(%x: tensor<5x2xf32>, %y: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<5x2xf32>
  %0 = stablehlo.multiply %x, %c : tensor<5x2xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  %d = stablehlo.constant dense<3.0> : tensor<5x4xf32>
  %r = stablehlo.multiply %1, %d : tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// leaves abs, dot_general, dot_general
func.func @chain_of_dots(%x: tensor<4x5xf32>, %y: tensor<5x6xf32>, %z: tensor<6xf32>) -> tensor<4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.abs %z : tensor<6xf32>
  %r = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves abs, dot_general, dot_general
func.func @chain_of_dots__from_the_left(%x: tensor<4xf32>, %y: tensor<4x5xf32>, %z: tensor<5x6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.dot_general %y, %z, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.abs %x : tensor<4xf32>
  %r = stablehlo.dot_general %1, %0, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// leaves constant, reduce, broadcast_in_dim, broadcast_in_dim, multiply
func.func @dot_of_repeated_terms(%x: tensor<4xf32>, %y: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x5xf32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// leaves constant
func.func @product_with_zeros(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<3x4xf32>
  %r = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// leaves slice, dot_general
func.func @dot_of_pad(%x: tensor<9x3xf32>, %y: tensor<6x2xf32>) -> tensor<9x2xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 2], high = [0, 1], interior = [0, 0] : (tensor<9x3xf32>, tensor<f32>) -> tensor<9x6xf32>
  %r = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<9x6xf32>, tensor<6x2xf32>) -> tensor<9x2xf32>
  return %r : tensor<9x2xf32>
}

// leaves reverse
func.func @dot_with_selection(%y: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %r = stablehlo.dot_general %c, %y, contracting_dims = [1] x [0] : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves constant, constant, reduce, add
func.func @independent_rounds_and_sums(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<4> : tensor<i32>
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %s = %c) : tensor<i32>, tensor<f32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
  %f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
  %u = stablehlo.add %s, %f : tensor<f32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<f32> }
  return %r#1 : tensor<f32>
}

// leaves negate
func.func @subtract_from_part(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.add %y, %x : tensor<4xf32>
  %r = stablehlo.subtract %y, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, multiply
func.func @sum_of_repeated__floats(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>
  %r = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, slice, slice, negate, concatenate, reduce_window
func.func @element_of_last_round_of_sums(%x: tensor<7xf32>, %y: tensor<7xf32>) -> tensor<7xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %n, %s = %x) : tensor<i32>, tensor<7xf32>
  cond { %p = stablehlo.compare GE, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %a = stablehlo.dynamic_slice %s, %j, sizes = [1] : (tensor<7xf32>, tensor<i32>) -> tensor<1xf32>
  %b = stablehlo.dynamic_slice %y, %i, sizes = [1] : (tensor<7xf32>, tensor<i32>) -> tensor<1xf32>
  %c = stablehlo.subtract %a, %b : tensor<1xf32>
  %u = stablehlo.dynamic_update_slice %s, %c, %i : (tensor<7xf32>, tensor<1xf32>, tensor<i32>) -> tensor<7xf32>
  %l = stablehlo.subtract %i, %one : tensor<i32>
  stablehlo.return %l, %u : tensor<i32>, tensor<7xf32> }
  return %r#1 : tensor<7xf32>
}

// leaves constant, reduce, exponential
func.func @extreme_of_monotone(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<4x6xf32>
  %r = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves select
func.func @function_of_two_selections(%p: tensor<5xi1>, %x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<5xf32>
  %a = stablehlo.select %p, %x, %c : tensor<5xi1>, tensor<5xf32>
  %b = stablehlo.select %p, %c, %y : tensor<5xi1>, tensor<5xf32>
  %r = stablehlo.add %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, compare, select
func.func @multiply_by_boolean__reversed(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %1 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %p = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %c = stablehlo.select %p, %0, %1 : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.multiply %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, subtract
func.func @regroup_differences(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<7.0> : tensor<5xf32>
  %d = stablehlo.constant dense<3.0> : tensor<5xf32>
  %0 = stablehlo.subtract %c, %x : tensor<5xf32>
  %r = stablehlo.add %0, %d : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, add
func.func @regroup_differences__twice(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<7.0> : tensor<5xf32>
  %d = stablehlo.constant dense<3.0> : tensor<5xf32>
  %0 = stablehlo.subtract %x, %c : tensor<5xf32>
  %r = stablehlo.subtract %0, %d : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, divide
func.func @regroup_quotients(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<7.0> : tensor<5xf32>
  %d = stablehlo.constant dense<3.0> : tensor<5xf32>
  %0 = stablehlo.divide %c, %x : tensor<5xf32>
  %r = stablehlo.multiply %0, %d : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves multiply, multiply, multiply
func.func @chain_of_factors(%x: tensor<5xf32>) -> tensor<5xf32> {
  %2 = stablehlo.multiply %x, %x : tensor<5xf32>
  %3 = stablehlo.multiply %2, %x : tensor<5xf32>
  %4 = stablehlo.multiply %3, %x : tensor<5xf32>
  %5 = stablehlo.multiply %4, %x : tensor<5xf32>
  return %5 : tensor<5xf32>
}

// leaves constant, reduce_window, tanh
func.func @window_of_monotone(%x: tensor<6xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<6xf32>
  %r = "stablehlo.reduce_window"(%0, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// leaves constant
func.func @divide_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.divide %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, constant, constant, gather, compare, compare, and, broadcast_in_dim, select
func.func @dot_with_one_hot(%i: tensor<4xi32>, %x: tensor<9x2xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.iota dim = 1 : tensor<4x9xi32>
  %1 = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x9xi32>
  %2 = stablehlo.compare EQ, %1, %0 : (tensor<4x9xi32>, tensor<4x9xi32>) -> tensor<4x9xi1>
  %3 = stablehlo.convert %2 : (tensor<4x9xi1>) -> tensor<4x9xf32>
  %r = stablehlo.dot_general %3, %x, contracting_dims = [1] x [0] : (tensor<4x9xf32>, tensor<9x2xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}
