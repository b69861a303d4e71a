// leaves convert
func.func @convert_of_convert(%x: tensor<4xi8>) -> tensor<4xf64> {
  %0 = stablehlo.convert %x : (tensor<4xi8>) -> tensor<4xf32>
  %r = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// leaves nothing
func.func @compare_converted_boolean(%p: tensor<4xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %r = stablehlo.compare NE, %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// keeps
func.func @a_narrow_type_between_loses_bits(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf16>
  %r = stablehlo.convert %0 : (tensor<4xf16>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves iota
func.func @convert_of_iota() -> tensor<4xf32> {
  %a = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// keeps
func.func @a_quotient_of_integers_in_a_wider_type(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %a = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xi64>
  %b = stablehlo.convert %y : (tensor<4xi32>) -> tensor<4xi64>
  %s = stablehlo.divide %a, %b : tensor<4xi64>
  %r = stablehlo.convert %s : (tensor<4xi64>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @parts_of_two_numbers_are_no_number(%x: tensor<2xi64>) -> tensor<2x2x2xi16> {
  %0 = stablehlo.bitcast_convert %x : (tensor<2xi64>) -> tensor<2x2xi32>
  %r = stablehlo.bitcast_convert %0 : (tensor<2x2xi32>) -> tensor<2x2x2xi16>
  return %r : tensor<2x2x2xi16>
}

// keeps
func.func @a_number_that_the_narrow_type_does_not_have(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.1> : tensor<4xf64>
  %a = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf64>
  %0 = stablehlo.multiply %a, %c : tensor<4xf64>
  %r = stablehlo.convert %0 : (tensor<4xf64>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
