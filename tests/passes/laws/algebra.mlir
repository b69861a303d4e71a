// leaves nothing
func.func @add_identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.add %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @add_identity__integer(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.add %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves nothing
func.func @subtract_identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.subtract %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @subtract_itself(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.subtract %x, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves negate
func.func @subtract_from_negative_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.subtract %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @multiply_identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r = stablehlo.multiply %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @multiply_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.multiply %c, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves negate
func.func @multiply_minus_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-1.0> : tensor<4xf32>
  %r = stablehlo.multiply %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @divide_identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r = stablehlo.divide %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, multiply
func.func @divide_by_power_of_two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<4.0> : tensor<4xf32>
  %r = stablehlo.divide %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @involution(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.negate %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves sine, subtract
func.func @add_negated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.sine %x : tensor<4xf32>
  %r = stablehlo.add %1, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves add
func.func @subtract_negated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.subtract %x, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply
func.func @negated_factors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.multiply %0, %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves abs
func.func @abs_of_same_size(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.abs %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @same_operands(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.maximum %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @logic_with_constant(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-1> : tensor<4xi32>
  %r = stablehlo.and %x, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant
func.func @xor_itself(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.xor %x, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves nothing
func.func @select_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = stablehlo.constant dense<true> : tensor<4xi1>
  %0 = stablehlo.sine %x : tensor<4xf32>
  %r = stablehlo.select %p, %x, %0 : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @select_same(%p: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves select
func.func @select_not(%p: tensor<4xi1>, %y: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %q = stablehlo.not %p : tensor<4xi1>
  %r = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves select
func.func @select_of_select(%p: tensor<4xi1>, %y: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %q = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.select %p, %q, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, add
func.func @compare_itself(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.compare EQ, %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %1 = stablehlo.convert %0 : (tensor<4xi1>) -> tensor<4xi32>
  %r = stablehlo.add %x, %1 : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves nothing
func.func @compare_boolean(%p: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<true> : tensor<4xi1>
  %r = stablehlo.compare EQ, %p, %c : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves compare
func.func @not_compare(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi1> {
  %0 = stablehlo.compare LT, %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %r = stablehlo.not %0 : tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves nothing
func.func @select_booleans(%p: tensor<4xi1>) -> tensor<4xi1> {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %f = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.select %p, %t, %f : tensor<4xi1>, tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves multiply
func.func @power_two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4xf32>
  %r = stablehlo.power %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @part_of_complex(%y: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %r = stablehlo.imag %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @complex_of_parts(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %1 = stablehlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %r = stablehlo.complex %0, %1 : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// keeps
func.func @positive_zero_is_not_the_identity_of_addition(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.add %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @subtracting_negative_zero_turns_0_0_into_0_0(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %r = stablehlo.subtract %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @infinity_minus_itself_is_NaN(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.subtract %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @zero_times_infinity_is_NaN(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.multiply %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @a_third_is_rounded(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %r = stablehlo.divide %x, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @NaN_is_not_equal_to_itself(%x: tensor<4xf32>) -> tensor<4xi1> {
  %r = stablehlo.compare EQ, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @the_opposite_of_an_order_of_floats_fails_on_NaN(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %0 = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.not %0 : tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @log_undoes_exp_only_up_to_rounding(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %r = stablehlo.log %0 : tensor<4xf32>
  return %r : tensor<4xf32>
}
