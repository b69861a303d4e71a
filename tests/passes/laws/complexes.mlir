// leaves real, add
func.func @part_of_sum(%x: tensor<4xf32>, %z: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %y = stablehlo.constant dense<2.0> : tensor<4xf32>
  %w = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %a = stablehlo.add %w, %z : tensor<4xcomplex<f32>>
  %r = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @part_of_converted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %r = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves conj
func.func @complex_of_negated_parts(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %a = stablehlo.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %b = stablehlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %n = stablehlo.negate %b : tensor<4xf32>
  %r = stablehlo.complex %a, %n : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// leaves complex, negate
func.func @complex_of_negated_parts__both(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
  %a = stablehlo.negate %x : tensor<4xf32>
  %b = stablehlo.negate %y : tensor<4xf32>
  %r = stablehlo.complex %a, %b : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

// leaves negate, complex
func.func @conjugate_of_parts(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
  %z = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %r = chlo.conj %z : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
