// keeps
func.func @a_minimum_that_may_be_NaN(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.minimum %x, %y : tensor<4xf32>
  %r = stablehlo.maximum %x, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves or, not
func.func @complements(%p: tensor<4xi1>, %q: tensor<4xi1>) -> tensor<4xi1> {
  %a = stablehlo.not %p : tensor<4xi1>
  %b = stablehlo.not %q : tensor<4xi1>
  %r = stablehlo.and %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves and
func.func @absorbed_complement(%p: tensor<4xi1>, %q: tensor<4xi1>) -> tensor<4xi1> {
  %a = stablehlo.not %p : tensor<4xi1>
  %b = stablehlo.or %a, %q : tensor<4xi1>
  %r = stablehlo.and %p, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant, compare
func.func @compare_constant_second(%x: tensor<4xf32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %r = stablehlo.compare LT, %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves compare
func.func @compare_of_same_step(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %b = stablehlo.negate %y : tensor<4xf32>
  %r = stablehlo.compare LT, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves compare
func.func @compare_of_same_step__sum(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> tensor<4xi1> {
  %a = stablehlo.add %x, %z : tensor<4xi32>
  %b = stablehlo.add %y, %z : tensor<4xi32>
  %r = stablehlo.compare EQ, %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @the_order_of_sums_changes_where_they_wrap(%x: tensor<4xi32>, %y: tensor<4xi32>, %z: tensor<4xi32>) -> tensor<4xi1> {
  %a = stablehlo.add %x, %z : tensor<4xi32>
  %b = stablehlo.add %y, %z : tensor<4xi32>
  %r = stablehlo.compare LT, %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @the_order_of_negated_integers_changes_where_they_wrap(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi1> {
  %a = stablehlo.negate %x : tensor<4xi32>
  %b = stablehlo.negate %y : tensor<4xi32>
  %r = stablehlo.compare LT, %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant, compare
func.func @compare_step_with_constant(%x: tensor<4xf32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.compare LT, %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant, compare
func.func @compare_step_with_constant__sum(%x: tensor<4xi32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %d = stablehlo.constant dense<5> : tensor<4xi32>
  %a = stablehlo.add %x, %c : tensor<4xi32>
  %r = stablehlo.compare EQ, %a, %d : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant, constant, and, compare
func.func @compare_step_with_constant__order(%x: tensor<4xi32>) -> tensor<4xi1> {
  %m = stablehlo.constant dense<255> : tensor<4xi32>
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %d = stablehlo.constant dense<5> : tensor<4xi32>
  %y = stablehlo.and %x, %m : tensor<4xi32>
  %a = stablehlo.add %y, %c : tensor<4xi32>
  %r = stablehlo.compare LT, %a, %d : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @a_sum_that_may_wrap(%x: tensor<4xi32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<3> : tensor<4xi32>
  %d = stablehlo.constant dense<5> : tensor<4xi32>
  %a = stablehlo.add %x, %c : tensor<4xi32>
  %r = stablehlo.compare LT, %a, %d : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves compare
func.func @compare_difference_with_zero(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %a = stablehlo.subtract %x, %y : tensor<4xi32>
  %r = stablehlo.compare NE, %a, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @the_difference_of_infinities_is_not_zero(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.subtract %x, %y : tensor<4xf32>
  %r = stablehlo.compare NE, %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant, compare
func.func @compare_abs_with_zero(%x: tensor<4xf32>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.abs %x : tensor<4xf32>
  %r = stablehlo.compare EQ, %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @a_conversion_that_rounds_makes_equal(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi1> {
  %a = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %b = stablehlo.convert %y : (tensor<4xi32>) -> tensor<4xf32>
  %r = stablehlo.compare EQ, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves compare
func.func @logic_of_comparisons(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %a = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.compare EQ, %y, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.or %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves constant
func.func @logic_of_comparisons__never(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %a = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.compare GT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.and %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @less_or_greater_is_not_unequal_where_NaN_is(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {
  %a = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.compare GT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.or %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves minimum
func.func @select_extreme(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.compare LT, %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves abs
func.func @select_abs(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %a = stablehlo.compare LT, %x, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %b = stablehlo.negate %x : tensor<4xi32>
  %r = stablehlo.select %a, %b, %x : tensor<4xi1>, tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves abs
func.func @select_abs__positive(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %a = stablehlo.compare GT, %x, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %b = stablehlo.negate %x : tensor<4xi32>
  %r = stablehlo.select %a, %x, %b : tensor<4xi1>, tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @minus_0_0_is_not_less_than_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %a = stablehlo.compare LT, %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.negate %x : tensor<4xf32>
  %r = stablehlo.select %a, %b, %x : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @minus_the_size_of_an_integer(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %a = stablehlo.compare LT, %x, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %b = stablehlo.negate %x : tensor<4xi32>
  %r = stablehlo.select %a, %x, %b : tensor<4xi1>, tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_selection_of_floats_takes_what_is_not_NaN(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @select_by_equality(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.compare EQ, %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves nothing
func.func @select_by_equality__nonzero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.compare NE, %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %c : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @zeros_of_both_signs_are_equal(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.compare EQ, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @minus_zero_is_not_negative(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %n = stablehlo.negate %x : tensor<4xf32>
  %a = stablehlo.compare LT, %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %a, %n, %x : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves and
func.func @select_logic(%p: tensor<4xi1>, %q: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<false> : tensor<4xi1>
  %r = stablehlo.select %p, %q, %c : tensor<4xi1>, tensor<4xi1>
  return %r : tensor<4xi1>
}

// leaves and, select
func.func @select_twice(%p: tensor<4xi1>, %q: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.select %q, %x, %y : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.select %p, %a, %y : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves convert
func.func @select_one_or_zero(%p: tensor<4xi1>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %d = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.select %p, %c, %d : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, constant, select
func.func @function_of_selected_constants(%p: tensor<4xi1>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %d = stablehlo.constant dense<5.0> : tensor<4xf32>
  %e = stablehlo.constant dense<2.0> : tensor<4xf32>
  %a = stablehlo.select %p, %c, %d : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.multiply %a, %e : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, constant, select
func.func @function_of_selected_constants__converted(%p: tensor<4xi1>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %a = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %r = stablehlo.add %a, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves select, sine
func.func @select_of_same_function(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.sine %x : tensor<4xf32>
  %b = stablehlo.sine %y : tensor<4xf32>
  %r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves select, multiply
func.func @select_of_same_function__common(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.multiply %x, %z : tensor<4xf32>
  %b = stablehlo.multiply %y, %z : tensor<4xf32>
  %r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves multiply
func.func @mirrored_selections(%p: tensor<5xi1>, %x: tensor<5xi32>, %y: tensor<5xi32>) -> tensor<5xi32> {
  %a = stablehlo.select %p, %x, %y : tensor<5xi1>, tensor<5xi32>
  %b = stablehlo.select %p, %y, %x : tensor<5xi1>, tensor<5xi32>
  %r = stablehlo.multiply %a, %b : tensor<5xi32>
  return %r : tensor<5xi32>
}

// keeps
func.func @mirrored_selections__ordered(%p: tensor<5xi1>, %x: tensor<5xi32>, %y: tensor<5xi32>) -> tensor<5xi32> {
  %a = stablehlo.select %p, %x, %y : tensor<5xi1>, tensor<5xi32>
  %b = stablehlo.select %p, %y, %x : tensor<5xi1>, tensor<5xi32>
  %r = stablehlo.subtract %a, %b : tensor<5xi32>
  return %r : tensor<5xi32>
}

// leaves constant, add, select
func.func @function_of_two_selections(%p: tensor<5xi1>, %x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<5xf32>
  %a = stablehlo.select %p, %x, %c : tensor<5xi1>, tensor<5xf32>
  %b = stablehlo.select %p, %y, %c : tensor<5xi1>, tensor<5xf32>
  %r = stablehlo.add %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves select
func.func @function_of_two_selections__apart(%p: tensor<5xi1>, %x: tensor<5xi32>, %y: tensor<5xi32>) -> tensor<5xi32> {
  %c = stablehlo.constant dense<0> : tensor<5xi32>
  %a = stablehlo.select %p, %x, %c : tensor<5xi1>, tensor<5xi32>
  %b = stablehlo.select %p, %c, %y : tensor<5xi1>, tensor<5xi32>
  %r = stablehlo.add %a, %b : tensor<5xi32>
  return %r : tensor<5xi32>
}

// leaves select
func.func @function_of_two_selections__of_negative_zeros(%p: tensor<i1>, %x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<-0.0> : tensor<5xf32>
  %a = stablehlo.select %p, %x, %c : tensor<i1>, tensor<5xf32>
  %b = stablehlo.select %p, %c, %y : tensor<i1>, tensor<5xf32>
  %r = stablehlo.add %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, subtract, select
func.func @function_of_two_selections__subtracted(%p: tensor<5xi1>, %x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<5xf32>
  %a = stablehlo.select %p, %x, %c : tensor<5xi1>, tensor<5xf32>
  %b = stablehlo.select %p, %c, %y : tensor<5xi1>, tensor<5xf32>
  %r = stablehlo.subtract %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// keeps
func.func @a_sum_of_selections_turns_minus_0_0_into_0_0(%p: tensor<5xi1>, %x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<5xf32>
  %a = stablehlo.select %p, %x, %c : tensor<5xi1>, tensor<5xf32>
  %b = stablehlo.select %p, %c, %y : tensor<5xi1>, tensor<5xf32>
  %r = stablehlo.add %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// keeps
func.func @selections_by_two_predicates(%p: tensor<5xi1>, %q: tensor<5xi1>, %x: tensor<5xi32>, %y: tensor<5xi32>) -> tensor<5xi32> {
  %c = stablehlo.constant dense<0> : tensor<5xi32>
  %a = stablehlo.select %p, %x, %c : tensor<5xi1>, tensor<5xi32>
  %b = stablehlo.select %q, %y, %c : tensor<5xi1>, tensor<5xi32>
  %r = stablehlo.add %a, %b : tensor<5xi32>
  return %r : tensor<5xi32>
}

// leaves constant, constant, select
func.func @function_of_two_selections__of_a_boolean(%p: tensor<5xi1>) -> tensor<5xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<5xf32>
  %1 = stablehlo.constant dense<1.0> : tensor<5xf32>
  %a = stablehlo.select %p, %0, %1 : tensor<5xi1>, tensor<5xf32>
  %b = stablehlo.convert %p : (tensor<5xi1>) -> tensor<5xf32>
  %r = stablehlo.subtract %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, constant, abs, multiply, add, select
func.func @function_of_two_selections__scaled(%p: tensor<5xi1>, %x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<5xf32>
  %h = stablehlo.constant dense<0.5> : tensor<5xf32>
  %v = stablehlo.abs %y : tensor<5xf32>
  %a = stablehlo.select %p, %0, %v : tensor<5xi1>, tensor<5xf32>
  %b = stablehlo.select %p, %x, %0 : tensor<5xi1>, tensor<5xf32>
  %c = stablehlo.multiply %b, %h : tensor<5xf32>
  %r = stablehlo.add %a, %c : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves compare
func.func @compare_with_own_extreme(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xi1> {
  %0 = stablehlo.maximum %y, %x : tensor<5xf32>
  %r = stablehlo.compare EQ, %x, %0 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}

// leaves compare
func.func @compare_with_own_extreme__different(%x: tensor<5xi32>, %y: tensor<5xi32>) -> tensor<5xi1> {
  %0 = stablehlo.minimum %x, %y : tensor<5xi32>
  %r = stablehlo.compare NE, %0, %y : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}

// keeps
func.func @nan_differs_from_its_own_extreme(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xi1> {
  %0 = stablehlo.maximum %x, %y : tensor<5xf32>
  %r = stablehlo.compare NE, %x, %0 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}

// leaves constant, compare
func.func @compare_of_limited(%x: tensor<5xf32>) -> tensor<5xi1> {
  %c = stablehlo.constant dense<1.0> : tensor<5xf32>
  %d = stablehlo.constant dense<1.5> : tensor<5xf32>
  %0 = stablehlo.maximum %x, %c : tensor<5xf32>
  %r = stablehlo.compare GE, %0, %d : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}

// leaves constant, compare
func.func @compare_of_limited__with_the_limit(%x: tensor<5xf32>) -> tensor<5xi1> {
  %c = stablehlo.constant dense<0.0> : tensor<5xf32>
  %0 = stablehlo.maximum %x, %c : tensor<5xf32>
  %r = stablehlo.compare EQ, %0, %c : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}

// leaves constant, compare
func.func @compare_of_limited__from_above(%x: tensor<5xi32>) -> tensor<5xi1> {
  %c = stablehlo.constant dense<7> : tensor<5xi32>
  %d = stablehlo.constant dense<2> : tensor<5xi32>
  %0 = stablehlo.minimum %x, %c : tensor<5xi32>
  %r = stablehlo.compare LT, %0, %d : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}

// keeps
func.func @a_limit_that_decides_unless_there_is_nan(%x: tensor<5xf32>) -> tensor<5xi1> {
  %c = stablehlo.constant dense<2.0> : tensor<5xf32>
  %d = stablehlo.constant dense<1.5> : tensor<5xf32>
  %0 = stablehlo.maximum %x, %c : tensor<5xf32>
  %r = stablehlo.compare GE, %0, %d : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}
