// leaves constant, constant, clamp
func.func @nested_bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-1.0> : tensor<4xf32>
  %d = stablehlo.constant dense<6.0> : tensor<4xf32>
  %a = stablehlo.maximum %x, %c : tensor<4xf32>
  %r = stablehlo.minimum %a, %d : tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, constant, clamp
func.func @nested_bounds__clamps(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-1> : tensor<4xi32>
  %d = stablehlo.constant dense<6> : tensor<4xi32>
  %e = stablehlo.constant dense<2> : tensor<4xi32>
  %g = stablehlo.constant dense<9> : tensor<4xi32>
  %a = stablehlo.clamp %c, %x, %d : tensor<4xi32>
  %r = stablehlo.clamp %e, %a, %g : tensor<4xi32>
  return %r : tensor<4xi32>
}

// leaves constant, minimum
func.func @clamp_on_one_side(%x: tensor<4xui32>) -> tensor<4xui32> {
  %c = stablehlo.constant dense<0> : tensor<4xui32>
  %d = stablehlo.constant dense<6> : tensor<4xui32>
  %r = stablehlo.clamp %c, %x, %d : tensor<4xui32>
  return %r : tensor<4xui32>
}

// keeps
func.func @the_smallest_integer_is_its_own_negation(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.negate %x : tensor<4xi32>
  %b = stablehlo.negate %y : tensor<4xi32>
  %r = stablehlo.maximum %a, %b : tensor<4xi32>
  return %r : tensor<4xi32>
}
