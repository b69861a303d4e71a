// leaves exponential
func.func @abs_of_known_sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %r = stablehlo.abs %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply
func.func @abs_of_known_sign__square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  %r = stablehlo.abs %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, minimum, negate
func.func @abs_of_known_sign__negative(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-3> : tensor<4xi32>
  %0 = stablehlo.minimum %x, %c : tensor<4xi32>
  %r = stablehlo.abs %0 : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @the_square_of_an_integer_wraps(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xi32>
  %r = stablehlo.abs %0 : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_root_may_be_minus_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sqrt %x : tensor<4xf32>
  %r = stablehlo.abs %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @extreme_of_ranges(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<4xf32>
  %r = stablehlo.maximum %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves exponential
func.func @extreme_of_ranges__positive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %r = stablehlo.maximum %c, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves iota
func.func @extreme_of_ranges__iota() -> tensor<4xi32> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.minimum %0, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_maximum_with_an_exponential_may_be_NaN(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-1.0> : tensor<4xf32>
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %r = stablehlo.minimum %0, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves iota
func.func @clamp_of_range() -> tensor<4xi32> {
  %a = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.clamp %a, %0, %b : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant
func.func @compare_ranges(%x: tensor<4xi32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %m = stablehlo.constant dense<255> : tensor<4xi32>
  %0 = stablehlo.and %x, %m : tensor<4xi32>
  %r = stablehlo.compare LT, %0, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant
func.func @compare_ranges__unsigned(%x: tensor<4xui32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0> : tensor<4xui32>
  %r = stablehlo.compare GE, %x, %c : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant
func.func @compare_ranges__float(%x: tensor<4xf32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.abs %x : tensor<4xf32>
  %r = stablehlo.compare LT, %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @NaN_is_not_at_least_zero(%x: tensor<4xf32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.abs %x : tensor<4xf32>
  %r = stablehlo.compare GE, %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant, compare
func.func @compare_with_end_of_range(%x: tensor<4xui32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0> : tensor<4xui32>
  %r = stablehlo.compare GT, %x, %c : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves nothing
func.func @compare_with_end_of_range__boolean(%p: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %0 = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xi32>
  %r = stablehlo.compare GT, %0, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant
func.func @compare_number_with_itself(%x: tensor<4xi32>) -> tensor<4xi1> {
  %0 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %r = stablehlo.compare NE, %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant
func.func @is_finite_known(%x: tensor<4xi8>) -> tensor<4xi1> {
  %0 = stablehlo.convert %x : (tensor<4xi8>) -> tensor<4xf32>
  %r = stablehlo.is_finite %0 : (tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @a_large_integer_is_infinite_as_float16(%x: tensor<4xi32>) -> tensor<4xi1> {
  %0 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf16>
  %r = stablehlo.is_finite %0 : (tensor<4xf16>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves floor
func.func @round_whole_number(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.floor %x : tensor<4xf32>
  %r = stablehlo.ceil %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves convert
func.func @round_whole_number__integer(%x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %r = stablehlo.round_nearest_even %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, and
func.func @convert_there_and_back(%x: tensor<4xi32>) -> tensor<4xi32> {
  %m = stablehlo.constant dense<1023> : tensor<4xi32>
  %0 = stablehlo.and %x, %m : tensor<4xi32>
  %1 = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xf32>
  %r = stablehlo.convert %1 : (tensor<4xf32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_large_integer_is_rounded_on_the_way(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %r = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves iota
func.func @remainder_of_less() -> tensor<4xi32> {
  %c = stablehlo.constant dense<5> : tensor<4xi32>
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.remainder %0, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, remainder
func.func @remainder_of_less__twice(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<5> : tensor<4xi32>
  %d = stablehlo.constant dense<10> : tensor<4xi32>
  %0 = stablehlo.remainder %x, %c : tensor<4xi32>
  %r = stablehlo.remainder %0, %d : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, shift_right_logical
func.func @divide_by_power_of_two_known_sign(%x: tensor<4xui32>) -> tensor<4xui32> {
  %c = stablehlo.constant dense<8> : tensor<4xui32>
  %r = stablehlo.divide %x, %c : tensor<4xui32>
  return %r : tensor<4xui32>
}

// leaves constant, and
func.func @divide_by_power_of_two_known_sign__remainder(%x: tensor<4xui32>) -> tensor<4xui32> {
  %c = stablehlo.constant dense<8> : tensor<4xui32>
  %r = stablehlo.remainder %x, %c : tensor<4xui32>
  return %r : tensor<4xui32>
}

// keeps
func.func @division_rounds_to_zero_and_a_shift_down(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<8> : tensor<4xi32>
  %r = stablehlo.divide %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves abs
func.func @add_zero_to_known(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.abs %x : tensor<4xf32>
  %r = stablehlo.add %0, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @finite_with_itself(%x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %r = stablehlo.subtract %0, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @multiply_finite_by_zero(%p: tensor<4xi1>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %r = stablehlo.multiply %0, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, and
func.func @modulo_power_of_two(%x: tensor<40xi32>) -> tensor<40xi32> {
  %n = stablehlo.constant dense<8> : tensor<40xi32>
  %z = stablehlo.constant dense<0> : tensor<40xi32>
  %0 = stablehlo.remainder %x, %n : tensor<40xi32>
  %1 = stablehlo.compare LT, %0, %z : (tensor<40xi32>, tensor<40xi32>) -> tensor<40xi1>
  %2 = stablehlo.add %0, %n : tensor<40xi32>
  %r = stablehlo.select %1, %2, %0 : tensor<40xi1>, tensor<40xi32>
  return %r : tensor<40xi32>
}

// keeps
func.func @a_modulo_of_a_power_of_two_by_another(%x: tensor<40xi32>) -> tensor<40xi32> {
  %n = stablehlo.constant dense<8> : tensor<40xi32>
  %m = stablehlo.constant dense<16> : tensor<40xi32>
  %z = stablehlo.constant dense<0> : tensor<40xi32>
  %0 = stablehlo.remainder %x, %n : tensor<40xi32>
  %1 = stablehlo.compare LT, %0, %z : (tensor<40xi32>, tensor<40xi32>) -> tensor<40xi1>
  %2 = stablehlo.add %0, %m : tensor<40xi32>
  %r = stablehlo.select %1, %2, %0 : tensor<40xi1>, tensor<40xi32>
  return %r : tensor<40xi32>
}

// leaves constant, shift_right_arithmetic
func.func @floor_of_power_of_two(%x: tensor<40xi32>) -> tensor<40xi32> {
  %n = stablehlo.constant dense<8> : tensor<40xi32>
  %z = stablehlo.constant dense<0> : tensor<40xi32>
  %one = stablehlo.constant dense<1> : tensor<40xi32>
  %less = stablehlo.constant dense<-1> : tensor<40xi32>
  %q = stablehlo.divide %x, %n : tensor<40xi32>
  %0 = stablehlo.sign %x : tensor<40xi32>
  %1 = stablehlo.compare NE, %0, %one : (tensor<40xi32>, tensor<40xi32>) -> tensor<40xi1>
  %2 = stablehlo.remainder %x, %n : tensor<40xi32>
  %3 = stablehlo.compare NE, %2, %z : (tensor<40xi32>, tensor<40xi32>) -> tensor<40xi1>
  %4 = stablehlo.and %1, %3 : tensor<40xi1>
  %5 = stablehlo.add %q, %less : tensor<40xi32>
  %r = stablehlo.select %4, %5, %q : tensor<40xi1>, tensor<40xi32>
  return %r : tensor<40xi32>
}

// keeps
func.func @a_quotient_by_a_power_of_two_that_is_rounded_by_another(%x: tensor<40xi32>) -> tensor<40xi32> {
  %n = stablehlo.constant dense<8> : tensor<40xi32>
  %m = stablehlo.constant dense<4> : tensor<40xi32>
  %z = stablehlo.constant dense<0> : tensor<40xi32>
  %one = stablehlo.constant dense<1> : tensor<40xi32>
  %less = stablehlo.constant dense<-1> : tensor<40xi32>
  %q = stablehlo.divide %x, %n : tensor<40xi32>
  %0 = stablehlo.sign %x : tensor<40xi32>
  %1 = stablehlo.compare NE, %0, %one : (tensor<40xi32>, tensor<40xi32>) -> tensor<40xi1>
  %2 = stablehlo.remainder %x, %m : tensor<40xi32>
  %3 = stablehlo.compare NE, %2, %z : (tensor<40xi32>, tensor<40xi32>) -> tensor<40xi1>
  %4 = stablehlo.and %1, %3 : tensor<40xi1>
  %5 = stablehlo.add %q, %less : tensor<40xi32>
  %r = stablehlo.select %4, %5, %q : tensor<40xi1>, tensor<40xi32>
  return %r : tensor<40xi32>
}

// keeps
func.func @a_quotient_of_any_sign_is_rounded_down(%x: tensor<4xi32>) -> tensor<4xi1> {
  %n = stablehlo.constant dense<6> : tensor<4xi32>
  %c = stablehlo.constant dense<1> : tensor<4xi32>
  %z = stablehlo.constant dense<0> : tensor<4xi32>
  %0 = stablehlo.sign %x : tensor<4xi32>
  %1 = stablehlo.compare NE, %0, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %2 = stablehlo.remainder %x, %n : tensor<4xi32>
  %3 = stablehlo.compare NE, %2, %z : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %r = stablehlo.and %1, %3 : tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant, reduce
func.func @add_zero_to_known__after_a_sum(%x: tensor<4x5xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.add %0, %z : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @a_sum_that_begins_with_minus_zero_may_be_that(%x: tensor<4x5xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.add %0, %z : tensor<4xf32>
  return %r : tensor<4xf32>
}
