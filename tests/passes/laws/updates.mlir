// leaves nothing
func.func @update_with_nothing(%x: tensor<4xf32>, %y: tensor<0xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %r = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<0xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves dynamic_update_slice
func.func @update_of_update(%x: tensor<4xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  %r = stablehlo.dynamic_update_slice %0, %z, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @update_with_itself(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
  %r = stablehlo.dynamic_update_slice %x, %0, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves nothing
func.func @read_of_update(%x: tensor<4xf32>, %y: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  %r = stablehlo.dynamic_slice %0, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves slice
func.func @slice_of_update(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %y, %c : (tensor<8xf32>, tensor<4xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.slice %0 [5:8:2] : (tensor<8xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves slice
func.func @slice_of_update__outside(%x: tensor<8xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %y, %c : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.slice %0 [3:5] : (tensor<8xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @what_is_read_at_another_place_may_overlap(%x: tensor<4xf32>, %y: tensor<2xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  %r = stablehlo.dynamic_slice %0, %j, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @an_update_of_another_size_is_clamped_to_another_place(%x: tensor<4xf32>, %y: tensor<2xf32>, %z: tensor<3xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  %r = stablehlo.dynamic_update_slice %0, %z, %i : (tensor<4xf32>, tensor<3xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
