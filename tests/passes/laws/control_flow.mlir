// leaves sine, add
func.func @known_branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<7> : tensor<i32>
  %r = "stablehlo.case"(%i) ({ stablehlo.return %x : tensor<4xf32> }, { %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  stablehlo.return %1 : tensor<4xf32> }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @single_branch(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.case"(%i) ({ stablehlo.return %x : tensor<4xf32> }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @loop_that_never_runs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.while(%s = %x) : tensor<4xf32>
  cond { %p = stablehlo.constant dense<false> : tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %n = stablehlo.sine %s : tensor<4xf32>
  stablehlo.return %n : tensor<4xf32> }
  return %r : tensor<4xf32>
}
