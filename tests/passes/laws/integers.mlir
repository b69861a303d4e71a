// leaves constant, add
func.func @constant_second(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %r = stablehlo.add %c, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, add
func.func @regroup_constants(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %d = stablehlo.constant dense<4> : tensor<4xi32>
  %a = stablehlo.add %x, %c : tensor<4xi32>
  %r = stablehlo.add %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, maximum
func.func @regroup_constants__extremes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %d = stablehlo.constant dense<4.0> : tensor<4xf32>
  %a = stablehlo.maximum %x, %c : tensor<4xf32>
  %r = stablehlo.maximum %a, %d : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @sums_of_floats_are_rounded(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %d = stablehlo.constant dense<0.1> : tensor<4xf32>
  %a = stablehlo.add %x, %c : tensor<4xf32>
  %r = stablehlo.add %a, %d : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves and
func.func @operand_again(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.and %x, %y : tensor<4xi32>
  %r = stablehlo.and %a, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, add
func.func @subtract_constant(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %r = stablehlo.subtract %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_difference_of_floats_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %r = stablehlo.subtract %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, subtract
func.func @constant_of_difference(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %d = stablehlo.constant dense<4> : tensor<4xi32>
  %a = stablehlo.subtract %c, %x : tensor<4xi32>
  %r = stablehlo.add %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, add
func.func @constant_of_difference__from(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %d = stablehlo.constant dense<4> : tensor<4xi32>
  %a = stablehlo.subtract %d, %x : tensor<4xi32>
  %r = stablehlo.subtract %c, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves nothing
func.func @subtract_part(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.add %x, %y : tensor<4xi32>
  %r = stablehlo.subtract %a, %y : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves nothing
func.func @subtract_part__difference(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.subtract %x, %y : tensor<4xi32>
  %r = stablehlo.subtract %x, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_sum_of_floats_is_rounded(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.add %x, %y : tensor<4xf32>
  %r = stablehlo.subtract %a, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @the_negated_difference_of_equal_floats_is_minus_zero(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.subtract %x, %y : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, subtract
func.func @negated_sum_with_constant(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %a = stablehlo.add %x, %c : tensor<4xi32>
  %r = stablehlo.negate %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, multiply
func.func @negated_product_with_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.multiply %x, %c : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, divide
func.func @negated_product_with_constant__quotient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.divide %c, %x : tensor<4xf32>
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, multiply
func.func @negated_factor_and_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.multiply %a, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, divide
func.func @divide_twice(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %d = stablehlo.constant dense<5> : tensor<4xi32>
  %a = stablehlo.divide %x, %c : tensor<4xi32>
  %r = stablehlo.divide %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_remainder_of_another_divisor(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<15> : tensor<4xi32>
  %d = stablehlo.constant dense<4> : tensor<4xi32>
  %a = stablehlo.remainder %x, %c : tensor<4xi32>
  %r = stablehlo.remainder %a, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @an_arithmetic_shift_back_extends_the_sign(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %a = stablehlo.shift_left %x, %c : tensor<4xi32>
  %r = stablehlo.shift_right_arithmetic %a, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves add, multiply
func.func @common_factor(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.multiply %x, %y : tensor<4xi32>
  %b = stablehlo.multiply %z, %x : tensor<4xi32>
  %r = stablehlo.add %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves or, and
func.func @common_factor__logic(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.and %x, %y : tensor<4xi32>
  %b = stablehlo.and %x, %z : tensor<4xi32>
  %r = stablehlo.or %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves maximum, minimum
func.func @common_factor__extremes(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.minimum %x, %y : tensor<4xf32>
  %b = stablehlo.minimum %x, %z : tensor<4xf32>
  %r = stablehlo.maximum %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @products_of_floats_are_rounded(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %y : tensor<4xf32>
  %b = stablehlo.multiply %z, %x : tensor<4xf32>
  %r = stablehlo.add %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, multiply
func.func @one_more_times(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %a = stablehlo.multiply %x, %c : tensor<4xi32>
  %r = stablehlo.add %a, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves multiply, abs
func.func @product_of_abs(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.abs %x : tensor<4xf32>
  %b = stablehlo.abs %y : tensor<4xf32>
  %r = stablehlo.multiply %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply
func.func @product_of_abs__square(%x: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.abs %x : tensor<4xi32>
  %r = stablehlo.multiply %a, %a : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves cosine
func.func @even_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.cosine %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves sine, negate, multiply
func.func @odd_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %b = stablehlo.sine %a : tensor<4xf32>
  %c = stablehlo.sine %x : tensor<4xf32>
  %r = stablehlo.multiply %b, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves add
func.func @larger_and_smaller(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.maximum %x, %y : tensor<4xf32>
  %b = stablehlo.minimum %y, %x : tensor<4xf32>
  %r = stablehlo.add %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @fold_splats__of_negated_factors() -> tensor<4xf32> {
  %x = stablehlo.constant dense<3.0> : tensor<4xf32>
  %c = stablehlo.constant dense<5.0> : tensor<4xf32>
  %0 = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.multiply %0, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves maximum, maximum
func.func @operand_of_both(%x: tensor<5xf32>, %y: tensor<5xf32>, %z: tensor<5xf32>) -> tensor<5xf32> {
  %a = stablehlo.maximum %x, %y : tensor<5xf32>
  %b = stablehlo.maximum %z, %x : tensor<5xf32>
  %r = stablehlo.maximum %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// keeps
func.func @sums_of_floats_with_constants_are_rounded(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<5xf32>
  %d = stablehlo.constant dense<5.0> : tensor<5xf32>
  %a = stablehlo.add %x, %c : tensor<5xf32>
  %b = stablehlo.add %y, %d : tensor<5xf32>
  %r = stablehlo.add %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant
func.func @remainder_of_one(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-1> : tensor<4xi32>
  %r = stablehlo.remainder %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @remainder_of_one_for_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r = stablehlo.remainder %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}
