// leaves constant, constant, clamp, convert, broadcast_in_dim, iota, add
func.func @dynamic_part_of_iota(%i: tensor<i32>) -> tensor<3xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<9xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [3] : (tensor<9xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// leaves constant, maximum, convert, reshape
func.func @dynamic_part_of_iota__of_one(%i: tensor<i8>) -> tensor<1xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<900xi32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [1] : (tensor<900xi32>, tensor<i8>) -> tensor<1xi32>
  return %r : tensor<1xi32>
}

// keeps
func.func @a_part_of_rounded_numbers_is_cut_out() -> tensor<2xbf16> {
  %0 = stablehlo.iota dim = 0 : tensor<400xbf16>
  %r = stablehlo.slice %0 [301:303] : (tensor<400xbf16>) -> tensor<2xbf16>
  return %r : tensor<2xbf16>
}
