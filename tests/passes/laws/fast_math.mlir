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

// leaves constant, log, multiply
func.func @log_of_power(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.5> : tensor<4xf32>
  %0 = stablehlo.power %x, %c : tensor<4xf32>
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

// leaves rsqrt, multiply
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
  %r = stablehlo.add %d, %0 : tensor<4xf32>
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
