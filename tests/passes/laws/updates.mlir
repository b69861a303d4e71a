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

// leaves constant, dynamic_slice
func.func @start_along_whole_axis(%x: tensor<4x3xf32>, %i: tensor<i32>) -> tensor<2x3xf32> {
  %r = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 3] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves dynamic_slice
func.func @start_that_is_clamped(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<6> : tensor<i32>
  %0 = stablehlo.clamp %low, %i, %high : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %0, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// leaves dynamic_update_slice
func.func @start_that_is_clamped__from_below(%x: tensor<8xf32>, %y: tensor<2xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %low = stablehlo.constant dense<-3> : tensor<i32>
  %0 = stablehlo.maximum %i, %low : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %y, %0 : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// leaves constant, pad
func.func @update_of_splat(%y: tensor<2xf32>) -> tensor<8xf32> {
  %x = stablehlo.constant dense<1.0> : tensor<8xf32>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %y, %c : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// leaves dynamic_slice, select, dynamic_update_slice
func.func @select_of_update(%p: tensor<i1>, %x: tensor<8xf32>, %y: tensor<2xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.select %p, %0, %x : tensor<i1>, tensor<8xf32>
  return %r : tensor<8xf32>
}

// keeps
func.func @a_start_clamped_to_less_than_its_range_is_clamped(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<5> : tensor<i32>
  %0 = stablehlo.clamp %low, %i, %high : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %0, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @updates_that_overlap_in_part_are_two(%x: tensor<5xf32>, %y: tensor<2xf32>, %z: tensor<3xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %d = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %z, %d : (tensor<5xf32>, tensor<3xf32>, tensor<i32>) -> tensor<5xf32>
  %r = stablehlo.dynamic_update_slice %0, %y, %c : (tensor<5xf32>, tensor<2xf32>, tensor<i32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// keeps
func.func @an_update_of_another_array_is_selected(%p: tensor<i1>, %x: tensor<8xf32>, %z: tensor<8xf32>, %y: tensor<2xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  %r = stablehlo.select %p, %0, %z : tensor<i1>, tensor<8xf32>
  return %r : tensor<8xf32>
}

// leaves constant, slice, slice, dynamic_update_slice
func.func @slice_of_update__in_part(%x: tensor<8x2xf32>, %y: tensor<4x1xf32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<3> : tensor<i32>
  %d = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %y, %c, %d : (tensor<8x2xf32>, tensor<4x1xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
  %r = stablehlo.slice %0 [2:5, 0:2] : (tensor<8x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// leaves constant, dynamic_update_slice
func.func @update_of_update__of_a_part(%x: tensor<6x4xf32>, %y: tensor<1x2xf32>, %z: tensor<2x4xf32>, %i: tensor<i32>) -> tensor<6x4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %y, %i, %c : (tensor<6x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
  %r = stablehlo.dynamic_update_slice %0, %z, %i, %c : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// keeps
func.func @an_update_of_an_update_that_is_read(%x: tensor<6xf32>, %y: tensor<1xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<6xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
  %z = stablehlo.dynamic_slice %0, %j, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
  %r = stablehlo.dynamic_update_slice %0, %z, %i : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @an_update_that_leaves_some_of_the_first(%x: tensor<6xf32>, %y: tensor<2xf32>, %z: tensor<1xf32>, %i: tensor<i32>) -> tensor<6xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>
  %r = stablehlo.dynamic_update_slice %0, %z, %i : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// keeps
func.func @an_update_between_two_parts(%x: tensor<2xf32>, %y: tensor<2xf32>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %c = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %r = stablehlo.dynamic_update_slice %c, %u, %1 : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, dynamic_update_slice
func.func @update_of_update__whole_axis(%x: tensor<9x4xf32>, %y: tensor<2x3xf32>, %z: tensor<2x4xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<9x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.dynamic_update_slice %x, %y, %i, %j : (tensor<9x4xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
  %b = stablehlo.dynamic_update_slice %a, %z, %i, %zero : (tensor<9x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
  return %b : tensor<9x4xf32>
}

// keeps
func.func @update_of_update_at_other_indices(%x: tensor<9x4xf32>, %y: tensor<2x3xf32>, %z: tensor<2x4xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<9x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.dynamic_update_slice %x, %y, %i, %j : (tensor<9x4xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
  %b = stablehlo.dynamic_update_slice %a, %z, %j, %zero : (tensor<9x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
  return %b : tensor<9x4xf32>
}
