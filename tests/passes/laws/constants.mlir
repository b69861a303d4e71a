// leaves constant
func.func @fold_splats() -> tensor<4xf32> {
  %a = stablehlo.constant dense<2.0> : tensor<4xf32>
  %b = stablehlo.constant dense<3.0> : tensor<4xf32>
  %r = stablehlo.multiply %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @fold_small() -> tensor<4xi32> {
  %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %b = stablehlo.constant dense<3> : tensor<4xi32>
  %r = stablehlo.multiply %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant
func.func @fold_splats__a_power_of_integers() -> tensor<4xi32> {
  %a = stablehlo.constant dense<7> : tensor<4xi32>
  %b = stablehlo.constant dense<13> : tensor<4xi32>
  %r = stablehlo.power %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant
func.func @fold_small__powers_of_integers() -> tensor<4xi32> {
  %a = stablehlo.constant dense<[-3, 0, 2, 1]> : tensor<4xi32>
  %b = stablehlo.constant dense<[3, 0, 31, 9]> : tensor<4xi32>
  %r = stablehlo.power %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @a_negative_power_of_integers_is_left_to_the_target() -> tensor<4xi32> {
  %a = stablehlo.constant dense<[-3, 0, 2, 1]> : tensor<4xi32>
  %b = stablehlo.constant dense<[3, 0, -1, 9]> : tensor<4xi32>
  %r = stablehlo.power %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @the_digits_of_powers_of_floats_are_left_to_the_target() -> tensor<4xf32> {
  %a = stablehlo.constant dense<7.0> : tensor<4xf32>
  %b = stablehlo.constant dense<13.0> : tensor<4xf32>
  %r = stablehlo.power %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant
func.func @fold_moves() -> tensor<4xi32> {
  %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %r = stablehlo.reverse %a, dims = [0] : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant
func.func @iota_of_one() -> tensor<1x3xi32> {
  %r = stablehlo.iota dim = 0 : tensor<1x3xi32>
  return %r : tensor<1x3xi32>
}

// keeps
func.func @integer_division_by_zero_is_left_to_the_target() -> tensor<4xi32> {
  %a = stablehlo.constant dense<1> : tensor<4xi32>
  %b = stablehlo.constant dense<0> : tensor<4xi32>
  %r = stablehlo.divide %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @integer_division_by_minus_one_is_left_to_the_target() -> tensor<2xi32> {
  %a = stablehlo.constant dense<[7, -2147483648]> : tensor<2xi32>
  %b = stablehlo.constant dense<-1> : tensor<2xi32>
  %r = stablehlo.divide %a, %b : tensor<2xi32>
  return %r : tensor<2xi32>
}

// leaves constant
func.func @fold_combinations() -> tensor<i32> {
  %c = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves constant, constant
func.func @sort_of_splats() -> (tensor<6xf32>, tensor<6xi32>) {
  %x = stablehlo.constant dense<2.0> : tensor<6xf32>
  %y = stablehlo.constant dense<7> : tensor<6xi32>
  %r:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xi32>
}

// keeps
func.func @a_sum_of_floats_has_no_order() -> tensor<f32> {
  %c = stablehlo.constant dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
