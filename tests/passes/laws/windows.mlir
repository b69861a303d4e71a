// keeps
func.func @padding_with_another_number_stays(%x: tensor<2x6xf32>) -> tensor<2x7xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %d = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %d, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x9xf32>
  %r = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x9xf32>, tensor<f32>) -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}

// leaves slice, broadcast_in_dim, add
func.func @window_of_one_element(%x: tensor<2x6xf32>, %c: tensor<f32>) -> tensor<2x3xf32> {
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// leaves reduce, reshape
func.func @window_of_everything(%x: tensor<2x6xi32>, %c: tensor<i32>) -> tensor<2x1xi32> {
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 6>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x6xi32>, tensor<i32>) -> tensor<2x1xi32>
  return %r : tensor<2x1xi32>
}

// leaves constant, reduce, reshape
func.func @window_of_everything__padded(%x: tensor<2x6xf32>) -> tensor<2x1xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 8>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x1xf32>
  return %r : tensor<2x1xf32>
}

// leaves slice, reduce_window
func.func @slice_of_windows(%x: tensor<2x8xf32>, %c: tensor<f32>) -> tensor<2x2xf32> {
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x6xf32>
  %r = stablehlo.slice %0 [0:2, 2:5:2] : (tensor<2x6xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// leaves constant, reduce, reshape
func.func @slice_of_windows__last_of_a_cumulative_sum(%x: tensor<8xi32>) -> tensor<1xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 8>, padding = dense<[[7, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  %r = stablehlo.slice %0 [7:8] : (tensor<8xi32>) -> tensor<1xi32>
  return %r : tensor<1xi32>
}

// leaves constant, reduce_window
func.func @reverse_of_reversed_windows(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reverse %x, dims = [0] : tensor<5xf32>
  %1 = "stablehlo.reduce_window"(%0, %c) <{padding = dense<[[4, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %r = stablehlo.reverse %1, dims = [0] : tensor<5xf32>
  return %r : tensor<5xf32>
}

// leaves constant, reduce_window
func.func @reverse_of_reversed_windows__with_strides(%x: tensor<7x3xi32>) -> tensor<3x3xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reverse %x, dims = [0] : tensor<7x3xi32>
  %1 = "stablehlo.reduce_window"(%0, %c) <{padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 3, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %2 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<7x3xi32>, tensor<i32>) -> tensor<3x3xi32>
  %r = stablehlo.reverse %1, dims = [0] : tensor<3x3xi32>
  return %r : tensor<3x3xi32>
}

// keeps
func.func @reversed_windows_that_do_not_end_with_the_array(%x: tensor<9xi32>) -> tensor<3xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reverse %x, dims = [0] : tensor<9xi32>
  %1 = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %2 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<9xi32>, tensor<i32>) -> tensor<3xi32>
  %r = stablehlo.reverse %1, dims = [0] : tensor<3xi32>
  return %r : tensor<3xi32>
}

// leaves reduce_window, broadcast_in_dim
func.func @window_of_broadcast(%x: tensor<6xi32>, %c: tensor<i32>) -> tensor<4x4xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<6xi32>) -> tensor<4x6xi32>
  %r = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<4x6xi32>, tensor<i32>) -> tensor<4x4xi32>
  return %r : tensor<4x4xi32>
}

// leaves reduce_window, broadcast_in_dim
func.func @window_of_broadcast__largest(%x: tensor<6xf32>, %c: tensor<f32>) -> tensor<3x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
  %r = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 2, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// keeps
func.func @sums_of_repeated_rows_count_them(%x: tensor<6xi32>, %c: tensor<i32>) -> tensor<3x4xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<6xi32>) -> tensor<4x6xi32>
  %r = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 2, 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<4x6xi32>, tensor<i32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}

// leaves constant, reduce_window, reduce_window
func.func @window_along_one_axis(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 5, 5>, padding = dense<[[2, 2], [2, 2]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<9x9xf32>, tensor<f32>) -> tensor<9x9xf32>
  return %r : tensor<9x9xf32>
}

// keeps
func.func @windows_of_3_x_3_are_combined_at_once(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 3, 3>, padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<9x9xf32>, tensor<f32>) -> tensor<9x9xf32>
  return %r : tensor<9x9xf32>
}

// keeps
func.func @windows_that_do_not_overlap_are_read_once(%x: tensor<8x8xf32>) -> tensor<4x4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x8xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// leaves constant, concatenate, reduce_window
func.func @cumulative_after_first(%a: tensor<1xi32>, %x: tensor<6xi32>) -> tensor<7xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %c = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
  %b = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<1xi32>) -> tensor<6xi32>
  %d = stablehlo.add %b, %c : tensor<6xi32>
  %r = stablehlo.concatenate %a, %d, dim = 0 : (tensor<1xi32>, tensor<6xi32>) -> tensor<7xi32>
  return %r : tensor<7xi32>
}

// leaves constant, concatenate, reduce_window
func.func @cumulative_after_first__from_the_last(%a: tensor<1xf32>, %x: tensor<6xf32>) -> tensor<7xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 6>, padding = dense<[[0, 5]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %n = stablehlo.reshape %a : (tensor<1xf32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %d = stablehlo.maximum %c, %b : tensor<6xf32>
  %r = stablehlo.concatenate %d, %a, dim = 0 : (tensor<6xf32>, tensor<1xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// keeps
func.func @cumulative_after_first__that_is_not_compared(%a: tensor<1xf32>, %x: tensor<6xf32>) -> tensor<7xf32> {
  %low = stablehlo.constant dense<0.0> : tensor<f32>
  %c = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 6>, padding = dense<[[0, 5]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %n = stablehlo.reshape %a : (tensor<1xf32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %d = stablehlo.maximum %c, %b : tensor<6xf32>
  %r = stablehlo.concatenate %d, %a, dim = 0 : (tensor<6xf32>, tensor<1xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// keeps
func.func @cumulative_before_first(%a: tensor<1xi32>, %x: tensor<6xi32>) -> tensor<7xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %c = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 6>, padding = dense<[[0, 5]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
  %n = stablehlo.reshape %a : (tensor<1xi32>) -> tensor<i32>
  %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<6xi32>
  %d = stablehlo.add %b, %c : tensor<6xi32>
  %r = stablehlo.concatenate %a, %d, dim = 0 : (tensor<1xi32>, tensor<6xi32>) -> tensor<7xi32>
  return %r : tensor<7xi32>
}

// leaves constant, concatenate, reduce_window
func.func @cumulative_after_first__along_rows(%a: tensor<4x1xi32>, %x: tensor<4x6xi32>) -> tensor<4x7xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %c = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 6>, padding = dense<[[0, 0], [5, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x6xi32>, tensor<i32>) -> tensor<4x6xi32>
  %n = stablehlo.reshape %a : (tensor<4x1xi32>) -> tensor<4xi32>
  %b = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<4xi32>) -> tensor<4x6xi32>
  %d = stablehlo.add %b, %c : tensor<4x6xi32>
  %r = stablehlo.concatenate %a, %d, dim = 1 : (tensor<4x1xi32>, tensor<4x6xi32>) -> tensor<4x7xi32>
  return %r : tensor<4x7xi32>
}

// keeps
func.func @cumulative_after_other_first(%a: tensor<4x1xi32>, %x: tensor<4x6xi32>, %n: tensor<4xi32>) -> tensor<4x7xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %c = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 6>, padding = dense<[[0, 0], [5, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x6xi32>, tensor<i32>) -> tensor<4x6xi32>
  %b = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<4xi32>) -> tensor<4x6xi32>
  %d = stablehlo.add %b, %c : tensor<4x6xi32>
  %r = stablehlo.concatenate %a, %d, dim = 1 : (tensor<4x1xi32>, tensor<4x6xi32>) -> tensor<4x7xi32>
  return %r : tensor<4x7xi32>
}

// leaves constant, constant, reduce_window, maximum
func.func @window_of_monotone(%x: tensor<4x6xf32>) -> tensor<2x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x6xf32>
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.maximum %x, %z : tensor<4x6xf32>
  %r = "stablehlo.reduce_window"(%0, %i) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// keeps
func.func @windows_of_padding_alone(%x: tensor<6xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<6xf32>
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.maximum %x, %z : tensor<6xf32>
  %r = "stablehlo.reduce_window"(%0, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, reduce_window
func.func @window_of_pad(%x: tensor<2x6xf32>) -> tensor<2x7xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x9xf32>
  %r = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x9xf32>, tensor<f32>) -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}

// leaves constant, slice, slice, slice, add, add, add, concatenate
func.func @short_cumulative(%x: tensor<2000x3xf32>) -> tensor<2000x3xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2000x3xf32>, tensor<f32>) -> tensor<2000x3xf32>
  return %r : tensor<2000x3xf32>
}

// leaves slice, slice, multiply, concatenate
func.func @short_cumulative__from_the_last(%x: tensor<2048x2xi32>) -> tensor<2048x2xi32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0], [0, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.multiply %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2048x2xi32>, tensor<i32>) -> tensor<2048x2xi32>
  return %r : tensor<2048x2xi32>
}

// keeps
func.func @short_cumulative_with_a_number_that_changes_it(%x: tensor<2048x2xi32>) -> tensor<2048x2xi32> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %r = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2048x2xi32>, tensor<i32>) -> tensor<2048x2xi32>
  return %r : tensor<2048x2xi32>
}
