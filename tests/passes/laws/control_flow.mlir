// leaves sine, add
func.func @known_branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<7> : tensor<i32>
  %r = "stablehlo.case"(%i) ({ stablehlo.return %x : tensor<4xf32> }, { %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  stablehlo.return %1 : tensor<4xf32> }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves if
func.func @index_inside_branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.if"(%p) ({
    %s = "stablehlo.if"(%p) ({
      %0 = stablehlo.sine %x : tensor<4xf32>
      stablehlo.return %0 : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, case
func.func @index_inside_branch__of_case(%i: tensor<i32>, %x: tensor<4xi32>) -> tensor<4xi32> {
  %r = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<4xi32>
  }, {
    %0 = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %1 = stablehlo.add %0, %x : tensor<4xi32>
    stablehlo.return %1 : tensor<4xi32>
  }, {
    %0 = stablehlo.multiply %x, %x : tensor<4xi32>
    stablehlo.return %0 : tensor<4xi32>
  }) : (tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// keeps
func.func @index_inside_last_branch(%i: tensor<i32>, %x: tensor<90xi32>) -> tensor<90xi32> {
  %r = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<90xi32>
  }, {
    %0 = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<90xi32>
    %1 = stablehlo.add %0, %x : tensor<90xi32>
    stablehlo.return %1 : tensor<90xi32>
  }) : (tensor<i32>) -> tensor<90xi32>
  return %r : tensor<90xi32>
}

// leaves if
func.func @unused_results(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = "stablehlo.if"(%p) ({
    %0 = stablehlo.sine %x : tensor<4xf32>
    %1 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }, {
    stablehlo.return %x, %x : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0 : tensor<4xf32>
}

// keeps
func.func @op_of_one_branch_of_three(%i: tensor<i32>, %x: tensor<90xf32>) -> tensor<90xf32> {
  %r = "stablehlo.case"(%i) ({
    %0 = stablehlo.sine %x : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }, {
    %0 = stablehlo.sine %x : tensor<90xf32>
    %1 = stablehlo.negate %0 : tensor<90xf32>
    stablehlo.return %1 : tensor<90xf32>
  }, {
    stablehlo.return %x : tensor<90xf32>
  }) : (tensor<i32>) -> tensor<90xf32>
  return %r : tensor<90xf32>
}

// keeps
func.func @calls_of_the_host_in_all_branches(%i: tensor<i32>) {
  "stablehlo.case"(%i) ({
    stablehlo.custom_call @host() {has_side_effect = true} : () -> ()
    stablehlo.return
  }, {
    stablehlo.custom_call @host() {has_side_effect = true} : () -> ()
    stablehlo.custom_call @host() {has_side_effect = true} : () -> ()
    stablehlo.return
  }) : (tensor<i32>) -> ()
  return
}

// leaves select
func.func @branches_of_one_form(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %x : tensor<4xf32> }, { stablehlo.return %y : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// leaves constant, compare, select
func.func @branches_of_one_form__of_case(%i: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.case"(%i) ({ stablehlo.return %x : tensor<4xf32> }, { stablehlo.return %y : tensor<4xf32> }) : (tensor<i32>) -> tensor<4xf32>
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

// leaves constant, constant, constant, and, while
func.func @unchanged_state(%n: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %m = stablehlo.and %n, %seven : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %l = %m, %s = %x, %c = %y) : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>
  cond { %p = stablehlo.compare LT, %i, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %t = stablehlo.multiply %s, %c : tensor<4xf32>
  stablehlo.return %j, %l, %t, %c : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32> }
  return %r#2, %r#3 : tensor<4xf32>, tensor<4xf32>
}

// leaves constant, constant, constant, while
func.func @equal_state(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %k = %zero, %s = %x, %t = %x) : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>
  cond { %n = stablehlo.constant dense<9> : tensor<i32>
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %l = stablehlo.add %k, %one : tensor<i32>
  %e = stablehlo.convert %k : (tensor<i32>) -> tensor<f32>
  %f = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.add %s, %f : tensor<4xf32>
  %1 = stablehlo.add %t, %f : tensor<4xf32>
  stablehlo.return %j, %l, %1, %0 : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32> }
  return %r#2, %r#3 : tensor<4xf32>, tensor<4xf32>
}

// keeps
func.func @state_that_parts(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %x, %c = %x) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.sine %c : tensor<4xf32>
  stablehlo.return %j, %b, %c, %0 : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> }
  return %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>
}

// leaves constant, constant, constant, constant, while
func.func @dead_state(%x: tensor<5xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.constant dense<1.0> : tensor<f32>
  %stack = stablehlo.constant dense<0.0> : tensor<5xf32>
  %r:4 = stablehlo.while(%i = %zero, %c = %start, %s = %stack, %t = %stack) : tensor<i32>, tensor<f32>, tensor<5xf32>, tensor<5xf32>
  cond { %n = stablehlo.constant dense<5> : tensor<i32>
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %y = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<5xf32>, tensor<i32>) -> tensor<1xf32>
  %e = stablehlo.reshape %y : (tensor<1xf32>) -> tensor<f32>
  %d = stablehlo.multiply %c, %e : tensor<f32>
  %u = stablehlo.dynamic_update_slice %s, %y, %i : (tensor<5xf32>, tensor<1xf32>, tensor<i32>) -> tensor<5xf32>
  %w = stablehlo.multiply %t, %s : tensor<5xf32>
  %v = stablehlo.dynamic_update_slice %w, %y, %i : (tensor<5xf32>, tensor<1xf32>, tensor<i32>) -> tensor<5xf32>
  stablehlo.return %j, %d, %u, %v : tensor<i32>, tensor<f32>, tensor<5xf32>, tensor<5xf32> }
  return %r#1 : tensor<f32>
}

// leaves sine
func.func @loop_that_runs_once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond { %n = stablehlo.constant dense<2> : tensor<i32>
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %two = stablehlo.constant dense<2> : tensor<i32>
  %j = stablehlo.add %i, %two : tensor<i32>
  %t = stablehlo.sine %s : tensor<4xf32>
  stablehlo.return %j, %t : tensor<i32>, tensor<4xf32> }
  return %r#1 : tensor<4xf32>
}

// leaves constant
func.func @counter_after_loop() -> tensor<i32> {
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %r = stablehlo.while(%i = %seven) : tensor<i32>
  cond { %n = stablehlo.constant dense<-3> : tensor<i32>
  %p = stablehlo.compare GE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %three = stablehlo.constant dense<3> : tensor<i32>
  %j = stablehlo.subtract %i, %three : tensor<i32>
  stablehlo.return %j : tensor<i32> }
  return %r : tensor<i32>
}

// keeps
func.func @counter_that_wraps_around() -> tensor<i8> {
  %n = stablehlo.constant dense<126> : tensor<i8>
  %four = stablehlo.constant dense<4> : tensor<i8>
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %r = stablehlo.while(%i = %zero) : tensor<i8>
  cond {
  %p = stablehlo.compare LE, %i, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %four : tensor<i8>
  stablehlo.return %j : tensor<i8> }
  return %r : tensor<i8>
}

// keeps
func.func @reduction_that_another_reads(%x: tensor<4x3xi32>, %y: tensor<4x3xi32>) -> tensor<4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %zero), (%y init: %zero) across dimensions = [1] : (tensor<4x3xi32>, tensor<4x3xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
  reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %p = stablehlo.compare GE, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %0 = stablehlo.select %p, %a, %c : tensor<i1>, tensor<i32>
    %1 = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %0, %1 : tensor<i32>, tensor<i32>
  }
  return %r#1 : tensor<4xi32>
}

// leaves sort
func.func @unused_sort_results(%x: tensor<6xi32>, %y: tensor<6xi32>, %z: tensor<6xi32>) -> tensor<6xi32> {
  %r:3 = "stablehlo.sort"(%x, %y, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
    %p = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>)
  return %r#2 : tensor<6xi32>
}

// leaves constant, constant, constant, reshape, while, reshape
func.func @reshaped_state(%x: tensor<6xf32>) -> tensor<6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<6xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.reshape %s : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<2x3xf32>
  %2 = stablehlo.sine %1 : tensor<2x3xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x3xf32>) -> tensor<6xf32>
  stablehlo.return %j, %3 : tensor<i32>, tensor<6xf32> }
  return %r#1 : tensor<6xf32>
}

// leaves constant, constant, constant, constant, constant, constant, reshape, while, reshape
func.func @reshaped_state__read_flat(%x: tensor<6xf32>) -> tensor<6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %most = stablehlo.constant dense<9.0> : tensor<f32>
  %start = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<2x3xf32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<6xf32>
  cond { %m = stablehlo.reduce(%s init: %start) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  %a = stablehlo.compare LT, %m, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %b = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %p = stablehlo.and %a, %b : tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.reshape %s : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<2x3xf32>
  %2 = stablehlo.dynamic_slice %s, %i, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.add %1, %3 : tensor<2x3xf32>
  %5 = stablehlo.multiply %4, %half : tensor<2x3xf32>
  %6 = stablehlo.reshape %5 : (tensor<2x3xf32>) -> tensor<6xf32>
  stablehlo.return %j, %6 : tensor<i32>, tensor<6xf32> }
  return %r#1 : tensor<6xf32>
}

// keeps
func.func @reshaped_state_of_other_rows(%x: tensor<6xf32>) -> tensor<6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<6xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.reshape %s : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = stablehlo.reshape %1 : (tensor<3x2xf32>) -> tensor<6xf32>
  stablehlo.return %j, %2 : tensor<i32>, tensor<6xf32> }
  return %r#1 : tensor<6xf32>
}

// leaves constant, constant, constant, multiply, sine, while
func.func @invariant_operations(%x: tensor<1024xf32>, %y: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<50> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<1024xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.multiply %y, %y : tensor<1024xf32>
  %1 = stablehlo.sine %0 : tensor<1024xf32>
  %2 = stablehlo.add %1, %s : tensor<1024xf32>
  stablehlo.return %j, %2 : tensor<i32>, tensor<1024xf32> }
  return %r#1 : tensor<1024xf32>
}

// keeps
func.func @invariant_operations_of_few_elements(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<8xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %1 = stablehlo.sine %y : tensor<8xf32>
  %2 = stablehlo.add %1, %s : tensor<8xf32>
  stablehlo.return %j, %2 : tensor<i32>, tensor<8xf32> }
  return %r#1 : tensor<8xf32>
}

// keeps
func.func @invariant_operations_that_may_trap(%x: tensor<1024xi32>, %y: tensor<1024xi32>, %n: tensor<i32>) -> tensor<1024xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<1024xi32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %1 = stablehlo.divide %y, %y : tensor<1024xi32>
  %2 = stablehlo.add %1, %s : tensor<1024xi32>
  stablehlo.return %j, %2 : tensor<i32>, tensor<1024xi32> }
  return %r#1 : tensor<1024xi32>
}

// keeps
func.func @invariant_operations_behind_a_barrier(%x: tensor<1024xf32>, %y: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<1024xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.optimization_barrier %y : tensor<1024xf32>
  %1 = stablehlo.sine %0 : tensor<1024xf32>
  %2 = stablehlo.add %1, %s : tensor<1024xf32>
  stablehlo.return %j, %2 : tensor<i32>, tensor<1024xf32> }
  return %r#1 : tensor<1024xf32>
}

// leaves sine
func.func @independent_rounds(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %ys = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %r:2 = stablehlo.while(%i = %zero, %s = %ys) : tensor<i32>, tensor<5x3xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
  %y = stablehlo.sine %row : tensor<1x3xf32>
  %u = stablehlo.dynamic_update_slice %s, %y, %i, %zero : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<5x3xf32> }
  return %r#1 : tensor<5x3xf32>
}

// leaves constant, constant, constant, slice, dot_general, dynamic_update_slice, reduce, maximum
func.func @independent_rounds__in_part_of_an_array(%x: tensor<5x3xf32>, %w: tensor<3x3xf32>, %y: tensor<7x3xf32>, %z: tensor<3xf32>) -> (tensor<7x3xf32>, tensor<3xf32>) {
  %four = stablehlo.constant dense<4> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %four, %s = %y, %m = %z) : tensor<i32>, tensor<7x3xf32>, tensor<3xf32>
  cond { %p = stablehlo.compare GE, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
  %v = stablehlo.reshape %row : (tensor<1x3xf32>) -> tensor<3xf32>
  %d = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %e = stablehlo.reshape %d : (tensor<3xf32>) -> tensor<1x3xf32>
  %k = stablehlo.add %i, %two : tensor<i32>
  %u = stablehlo.dynamic_update_slice %s, %e, %k, %zero : (tensor<7x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<7x3xf32>
  %a = stablehlo.maximum %m, %d : tensor<3xf32>
  %j = stablehlo.subtract %i, %one : tensor<i32>
  stablehlo.return %j, %u, %a : tensor<i32>, tensor<7x3xf32>, tensor<3xf32> }
  return %r#1, %r#2 : tensor<7x3xf32>, tensor<3xf32>
}

// leaves constant, reduce, add
func.func @independent_rounds__of_sums(%x: tensor<5xi32>, %c: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %c) : tensor<i32>, tensor<i32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<5xi32>, tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.reshape %e : (tensor<1xi32>) -> tensor<i32>
  %u = stablehlo.add %s, %f : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<i32> }
  return %r#1 : tensor<i32>
}

// leaves constant, reduce_window, broadcast_in_dim, add
func.func @independent_rounds__of_running_sums(%x: tensor<5xi32>, %c: tensor<i32>) -> tensor<5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %empty = stablehlo.constant dense<0> : tensor<5xi32>
  %r:3 = stablehlo.while(%i = %zero, %s = %c, %t = %empty) : tensor<i32>, tensor<i32>, tensor<5xi32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<5xi32>, tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.reshape %e : (tensor<1xi32>) -> tensor<i32>
  %u = stablehlo.add %s, %f : tensor<i32>
  %g = stablehlo.reshape %u : (tensor<i32>) -> tensor<1xi32>
  %v = stablehlo.dynamic_update_slice %t, %g, %i : (tensor<5xi32>, tensor<1xi32>, tensor<i32>) -> tensor<5xi32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u, %v : tensor<i32>, tensor<i32>, tensor<5xi32> }
  return %r#2 : tensor<5xi32>
}

// keeps
func.func @running_sums_of_floats(%x: tensor<5xf32>, %c: tensor<f32>) -> tensor<5xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<5xf32>
  %r:3 = stablehlo.while(%i = %zero, %s = %c, %t = %empty) : tensor<i32>, tensor<f32>, tensor<5xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<5xf32>, tensor<i32>) -> tensor<1xf32>
  %f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
  %u = stablehlo.add %s, %f : tensor<f32>
  %g = stablehlo.reshape %u : (tensor<f32>) -> tensor<1xf32>
  %v = stablehlo.dynamic_update_slice %t, %g, %i : (tensor<5xf32>, tensor<1xf32>, tensor<i32>) -> tensor<5xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u, %v : tensor<i32>, tensor<f32>, tensor<5xf32> }
  return %r#2 : tensor<5xf32>
}

// keeps
func.func @rounds_that_read_what_others_wrote(%x: tensor<9x3xf32>) -> tensor<9x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<8> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<9x3xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %row = stablehlo.dynamic_slice %s, %i, %zero, sizes = [1, 3] : (tensor<9x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
  %y = stablehlo.sine %row : tensor<1x3xf32>
  %u = stablehlo.dynamic_update_slice %s, %y, %j, %zero : (tensor<9x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<9x3xf32>
  stablehlo.return %j, %u : tensor<i32>, tensor<9x3xf32> }
  return %r#1 : tensor<9x3xf32>
}

// keeps
func.func @rounds_whose_condition_calls_the_host_in_a_branch(%x: tensor<50xi32>, %c: tensor<i32>, %q: tensor<i1>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<50> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %c) : tensor<i32>, tensor<i32>
  cond { "stablehlo.if"(%q) ({
    stablehlo.custom_call @host(%s) {has_side_effect = true} : (tensor<i32>) -> ()
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<50xi32>, tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.reshape %e : (tensor<1xi32>) -> tensor<i32>
  %u = stablehlo.add %s, %f : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<i32> }
  return %r#1 : tensor<i32>
}

// keeps
func.func @rounds_that_add_floats(%x: tensor<50xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<50> : tensor<i32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %s = %c) : tensor<i32>, tensor<f32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<50xf32>, tensor<i32>) -> tensor<1xf32>
  %f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
  %u = stablehlo.add %s, %f : tensor<f32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<f32> }
  return %r#1 : tensor<f32>
}

// leaves if
func.func @case_of_boolean(%p: tensor<i1>, %x: tensor<90xf32>) -> tensor<90xf32> {
  %i = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>
  %r = "stablehlo.case"(%i) ({
    %0 = stablehlo.sine %x : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }, {
    %0 = stablehlo.cosine %x : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }) : (tensor<i32>) -> tensor<90xf32>
  return %r : tensor<90xf32>
}

// leaves constant, constant, select, multiply, sine
func.func @branches_of_one_form__with_other_constants(%p: tensor<i1>, %x: tensor<90xf32>) -> tensor<90xf32> {
  %r = "stablehlo.if"(%p) ({
    %c = stablehlo.constant dense<3.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<90xf32>
    %0 = stablehlo.multiply %x, %b : tensor<90xf32>
    %1 = stablehlo.sine %0 : tensor<90xf32>
    stablehlo.return %1 : tensor<90xf32>
  }, {
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<90xf32>
    %0 = stablehlo.multiply %x, %b : tensor<90xf32>
    %1 = stablehlo.sine %0 : tensor<90xf32>
    stablehlo.return %1 : tensor<90xf32>
  }) : (tensor<i1>) -> tensor<90xf32>
  return %r : tensor<90xf32>
}

// leaves reverse
func.func @branches_of_one_form__all_of_them(%i: tensor<i32>, %x: tensor<90xf32>) -> tensor<90xf32> {
  %r = "stablehlo.case"(%i) ({
    %0 = stablehlo.reverse %x, dims = [0] : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }, {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }, {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }) : (tensor<i32>) -> tensor<90xf32>
  return %r : tensor<90xf32>
}

// keeps
func.func @conditionals_that_read_one_another(%p: tensor<i1>, %x: tensor<90xf32>) -> tensor<90xf32> {
  %a = "stablehlo.if"(%p) ({
    %0 = stablehlo.sine %x : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }, {
    stablehlo.return %x : tensor<90xf32>
  }) : (tensor<i1>) -> tensor<90xf32>
  %y = stablehlo.tanh %a : tensor<90xf32>
  %b = "stablehlo.if"(%p) ({
    %0 = stablehlo.sine %y : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }, {
    %0 = stablehlo.cosine %y : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }) : (tensor<i1>) -> tensor<90xf32>
  return %b : tensor<90xf32>
}

// leaves add, multiply, select
func.func @cheap_branches(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %r = "stablehlo.if"(%p) ({
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    stablehlo.return %0 : tensor<2xf32>
  }, {
    %0 = stablehlo.multiply %x, %x : tensor<2xf32>
    stablehlo.return %0 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// keeps
func.func @branches_that_may_trap(%p: tensor<i1>, %x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
  %r = "stablehlo.if"(%p) ({
    %0 = stablehlo.divide %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }, {
    stablehlo.return %x : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  return %r : tensor<i32>
}

// leaves sine, cosine, select
func.func @cheap_branches_on_a_gpu(%p: tensor<i1>, %x: tensor<90xf32>) -> tensor<90xf32> {
  %r = "stablehlo.if"(%p) ({
    %0 = stablehlo.sine %x : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }, {
    %0 = stablehlo.cosine %x : tensor<90xf32>
    stablehlo.return %0 : tensor<90xf32>
  }) : (tensor<i1>) -> tensor<90xf32>
  return %r : tensor<90xf32>
}

// leaves multiply, add, multiply, add
func.func @short_loop(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %m = stablehlo.multiply %s, %y : tensor<4xf32>
  %t = stablehlo.add %m, %s : tensor<4xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %t : tensor<i32>, tensor<4xf32> }
  return %r#1 : tensor<4xf32>
}

// leaves sine, sine, sine
func.func @short_loop_on_a_gpu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %t = stablehlo.sine %s : tensor<4xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %t : tensor<i32>, tensor<4xf32> }
  return %r#1 : tensor<4xf32>
}

// keeps
func.func @short_loop_of_functions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %t = stablehlo.sine %s : tensor<4xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %t : tensor<i32>, tensor<4xf32> }
  return %r#1 : tensor<4xf32>
}

// keeps
func.func @short_loop_whose_condition_calls_the_host(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond { stablehlo.custom_call @host(%s) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %m = stablehlo.multiply %s, %y : tensor<4xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %m : tensor<i32>, tensor<4xf32> }
  return %r#1 : tensor<4xf32>
}

// leaves constant, constant, constant, constant, reduce, while
func.func @invariant_operations__of_many_rounds(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<110> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<8xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.reduce(%y init: %init) applies stablehlo.maximum across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.multiply %1, %s : tensor<8xf32>
  stablehlo.return %j, %2 : tensor<i32>, tensor<8xf32> }
  return %r#1 : tensor<8xf32>
}

// leaves constant, constant, sine, while
func.func @invariant_operations_on_a_gpu(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<8xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do { %j = stablehlo.add %i, %one : tensor<i32>
  %1 = stablehlo.sine %y : tensor<8xf32>
  %2 = stablehlo.add %1, %s : tensor<8xf32>
  stablehlo.return %j, %2 : tensor<i32>, tensor<8xf32> }
  return %r#1 : tensor<8xf32>
}

// keeps
func.func @rotated_state_that_is_read(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<90> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %c = %z) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %d = stablehlo.add %c, %a : tensor<4xf32>
  stablehlo.return %j, %b, %a, %d : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> }
  return %r#1, %r#3 : tensor<4xf32>, tensor<4xf32>
}

// leaves constant
func.func @nothing_of_array(%x: tensor<4xf32>) -> tensor<0xf32> {
  %r = stablehlo.slice %x [2:2] : (tensor<4xf32>) -> tensor<0xf32>
  return %r : tensor<0xf32>
}

// leaves constant
func.func @nothing_of_nothing() -> tensor<0xf32> {
  %c = stablehlo.constant dense<> : tensor<0xf32>
  %r = stablehlo.sine %c : tensor<0xf32>
  return %r : tensor<0xf32>
}

// leaves constant
func.func @convolution_of_nothing(%x: tensor<2x8x0xf32>) -> tensor<2x6x4xf32> {
  %c = stablehlo.constant dense<> : tensor<3x0x4xf32>
  %r = stablehlo.convolution(%x, %c) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x0xf32>, tensor<3x0x4xf32>) -> tensor<2x6x4xf32>
  return %r : tensor<2x6x4xf32>
}

// leaves constant, constant, constant, constant, while
func.func @empty_state(%x: tensor<4xf32>, %e: tensor<0xf32>) -> (tensor<4xf32>, tensor<0xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<90> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %s = %x, %t = %e) : tensor<i32>, tensor<4xf32>, tensor<0xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.sine %s : tensor<4xf32>
  %1 = stablehlo.sine %t : tensor<0xf32>
  stablehlo.return %j, %0, %1 : tensor<i32>, tensor<4xf32>, tensor<0xf32> }
  return %r#1, %r#2 : tensor<4xf32>, tensor<0xf32>
}

// leaves constant, if
func.func @empty_results(%p: tensor<i1>, %x: tensor<90xf32>, %e: tensor<0xf32>) -> (tensor<90xf32>, tensor<0xf32>) {
  %r:2 = "stablehlo.if"(%p) ({
    %0 = stablehlo.sine %x : tensor<90xf32>
    %1 = stablehlo.sine %e : tensor<0xf32>
    stablehlo.return %0, %1 : tensor<90xf32>, tensor<0xf32>
  }, {
    %0 = stablehlo.cosine %x : tensor<90xf32>
    stablehlo.return %0, %e : tensor<90xf32>, tensor<0xf32>
  }) : (tensor<i1>) -> (tensor<90xf32>, tensor<0xf32>)
  return %r#0, %r#1 : tensor<90xf32>, tensor<0xf32>
}

// leaves optimization_barrier, sine
func.func @unused_barrier_results(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<4xf32>
  %s = stablehlo.sine %r#1 : tensor<4xf32>
  return %s : tensor<4xf32>
}

// leaves constant, reduce_window
func.func @element_of_last_round(%x: tensor<7xi32>) -> tensor<7xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<6> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<7xi32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %a = stablehlo.dynamic_slice %s, %i, sizes = [1] : (tensor<7xi32>, tensor<i32>) -> tensor<1xi32>
  %b = stablehlo.dynamic_slice %s, %j, sizes = [1] : (tensor<7xi32>, tensor<i32>) -> tensor<1xi32>
  %c = stablehlo.add %a, %b : tensor<1xi32>
  %u = stablehlo.dynamic_update_slice %s, %c, %j : (tensor<7xi32>, tensor<1xi32>, tensor<i32>) -> tensor<7xi32>
  stablehlo.return %j, %u : tensor<i32>, tensor<7xi32> }
  return %r#1 : tensor<7xi32>
}

// leaves constant, constant, constant, dynamic_slice, slice, reshape, broadcast_in_dim, reshape, reduce_window, broadcast_in_dim, maximum, reshape, dynamic_update_slice, dynamic_update_slice
func.func @element_of_last_round__of_a_row_backwards(%x: tensor<3x7xi32>, %k: tensor<i32>, %y: tensor<1x1xi32>) -> tensor<3x7xi32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%i = %n, %s = %x) : tensor<i32>, tensor<3x7xi32>
  cond { %p = stablehlo.compare GE, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %a = stablehlo.dynamic_slice %s, %k, %j, sizes = [1, 1] : (tensor<3x7xi32>, tensor<i32>, tensor<i32>) -> tensor<1x1xi32>
  %c = stablehlo.maximum %y, %a : tensor<1x1xi32>
  %u = stablehlo.dynamic_update_slice %s, %c, %k, %i : (tensor<3x7xi32>, tensor<1x1xi32>, tensor<i32>, tensor<i32>) -> tensor<3x7xi32>
  %l = stablehlo.subtract %i, %one : tensor<i32>
  stablehlo.return %l, %u : tensor<i32>, tensor<3x7xi32> }
  return %r#1 : tensor<3x7xi32>
}

// keeps
func.func @element_of_the_round_before_the_last(%x: tensor<9xf32>) -> tensor<9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.constant dense<7> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<9xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %two : tensor<i32>
  %a = stablehlo.dynamic_slice %s, %i, sizes = [1] : (tensor<9xf32>, tensor<i32>) -> tensor<1xf32>
  %c = stablehlo.sine %a : tensor<1xf32>
  %u = stablehlo.dynamic_update_slice %s, %c, %j : (tensor<9xf32>, tensor<1xf32>, tensor<i32>) -> tensor<9xf32>
  %l = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %l, %u : tensor<i32>, tensor<9xf32> }
  return %r#1 : tensor<9xf32>
}

// keeps
func.func @element_of_last_round_out_of_range(%x: tensor<9xf32>) -> tensor<9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %less = stablehlo.constant dense<-1> : tensor<i32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<9xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %less : tensor<i32>
  %a = stablehlo.dynamic_slice %s, %j, sizes = [1] : (tensor<9xf32>, tensor<i32>) -> tensor<1xf32>
  %c = stablehlo.sine %a : tensor<1xf32>
  %u = stablehlo.dynamic_update_slice %s, %c, %i : (tensor<9xf32>, tensor<1xf32>, tensor<i32>) -> tensor<9xf32>
  %l = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %l, %u : tensor<i32>, tensor<9xf32> }
  return %r#1 : tensor<9xf32>
}

// leaves constant, constant, constant, dynamic_slice, while, dynamic_update_slice
func.func @part_of_state(%x: tensor<3x9xf32>, %k: tensor<i32>, %l: tensor<i32>) -> tensor<3x9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<3x9xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %a = stablehlo.dynamic_slice %s, %k, %l, sizes = [1, 1] : (tensor<3x9xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
  %b = stablehlo.dynamic_slice %x, %k, %i, sizes = [1, 1] : (tensor<3x9xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
  %c = stablehlo.add %a, %b : tensor<1x1xf32>
  %u = stablehlo.dynamic_update_slice %s, %c, %k, %l : (tensor<3x9xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<3x9xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<3x9xf32> }
  return %r#1 : tensor<3x9xf32>
}

// leaves constant, constant, constant, slice, while, dynamic_update_slice
func.func @part_of_state__a_row(%x: tensor<3x9xf32>, %k: tensor<i32>) -> tensor<3x9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<8> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<3x9xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %j = stablehlo.add %i, %one : tensor<i32>
  %a = stablehlo.dynamic_slice %s, %one, %i, sizes = [1, 1] : (tensor<3x9xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
  %c = stablehlo.sine %a : tensor<1x1xf32>
  %u = stablehlo.dynamic_update_slice %s, %c, %one, %j : (tensor<3x9xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<3x9xf32>
  stablehlo.return %j, %u : tensor<i32>, tensor<3x9xf32> }
  return %r#1 : tensor<3x9xf32>
}

// keeps
func.func @part_of_state_that_is_read_elsewhere(%x: tensor<90xf32>, %k: tensor<i32>) -> tensor<90xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<90xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %a = stablehlo.dynamic_slice %s, %i, sizes = [1] : (tensor<90xf32>, tensor<i32>) -> tensor<1xf32>
  %c = stablehlo.sine %a : tensor<1xf32>
  %u = stablehlo.dynamic_update_slice %s, %c, %k : (tensor<90xf32>, tensor<1xf32>, tensor<i32>) -> tensor<90xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<90xf32> }
  return %r#1 : tensor<90xf32>
}

// keeps
func.func @parts_of_state_of_two_sizes(%x: tensor<90xf32>, %k: tensor<i32>) -> tensor<90xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<90xf32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %a = stablehlo.dynamic_slice %s, %k, sizes = [2] : (tensor<90xf32>, tensor<i32>) -> tensor<2xf32>
  %b = stablehlo.slice %a [1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %c = stablehlo.sine %b : tensor<1xf32>
  %u = stablehlo.dynamic_update_slice %s, %c, %k : (tensor<90xf32>, tensor<1xf32>, tensor<i32>) -> tensor<90xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<90xf32> }
  return %r#1 : tensor<90xf32>
}

// leaves constant, constant, constant, compare, select, reduce, subtract
func.func @update_under_condition(%x: tensor<5xi32>, %c: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %c) : tensor<i32>, tensor<i32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<5xi32>, tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.reshape %e : (tensor<1xi32>) -> tensor<i32>
  %q = stablehlo.compare GT, %f, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %u = stablehlo.subtract %s, %f : tensor<i32>
  %v = stablehlo.select %q, %u, %s : tensor<i1>, tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %v : tensor<i32>, tensor<i32> }
  return %r#1 : tensor<i32>
}

// keeps
func.func @update_of_other_state_under_condition(%x: tensor<50xf32>, %c: tensor<f32>, %d: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<50> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %s = %c, %t = %d) : tensor<i32>, tensor<f32>, tensor<f32>
  cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1> } do {
  %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<50xf32>, tensor<i32>) -> tensor<1xf32>
  %f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
  %q = stablehlo.compare GT, %f, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %u = stablehlo.add %s, %f : tensor<f32>
  %v = stablehlo.select %q, %u, %s : tensor<i1>, tensor<f32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %t, %v : tensor<i32>, tensor<f32>, tensor<f32> }
  return %r#1, %r#2 : tensor<f32>, tensor<f32>
}

// leaves constant, constant, clamp, reshape, scatter
func.func @independent_rounds_on_a_gpu(%x: tensor<9xi32>, %k: tensor<90xi32>, %v: tensor<90xi32>) -> tensor<9xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<90> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<9xi32>
  cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1> } do {
  %a = stablehlo.dynamic_slice %k, %i, sizes = [1] : (tensor<90xi32>, tensor<i32>) -> tensor<1xi32>
  %b = stablehlo.reshape %a : (tensor<1xi32>) -> tensor<i32>
  %d = stablehlo.dynamic_slice %v, %i, sizes = [1] : (tensor<90xi32>, tensor<i32>) -> tensor<1xi32>
  %e = stablehlo.dynamic_slice %s, %b, sizes = [1] : (tensor<9xi32>, tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.add %e, %d : tensor<1xi32>
  %u = stablehlo.dynamic_update_slice %s, %f, %b : (tensor<9xi32>, tensor<1xi32>, tensor<i32>) -> tensor<9xi32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<9xi32> }
  return %r#1 : tensor<9xi32>
}

// keeps
func.func @rounds_that_add_to_other_elements(%x: tensor<9xi32>, %k: tensor<90xi32>, %v: tensor<90xi32>) -> tensor<9xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<90> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<9xi32>
  cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1> } do {
  %a = stablehlo.dynamic_slice %k, %i, sizes = [1] : (tensor<90xi32>, tensor<i32>) -> tensor<1xi32>
  %b = stablehlo.reshape %a : (tensor<1xi32>) -> tensor<i32>
  %d = stablehlo.dynamic_slice %v, %i, sizes = [1] : (tensor<90xi32>, tensor<i32>) -> tensor<1xi32>
  %h = stablehlo.reshape %d : (tensor<1xi32>) -> tensor<i32>
  %e = stablehlo.dynamic_slice %s, %h, sizes = [1] : (tensor<9xi32>, tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.add %e, %d : tensor<1xi32>
  %u = stablehlo.dynamic_update_slice %s, %f, %b : (tensor<9xi32>, tensor<1xi32>, tensor<i32>) -> tensor<9xi32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<9xi32> }
  return %r#1 : tensor<9xi32>
}

// leaves constant, constant, constant, constant, while
func.func @update_under_condition__of_an_element(%x: tensor<9xf32>, %k: tensor<90xi32>, %v: tensor<90xf32>, %p: tensor<90xi1>) -> tensor<9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<90> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<9xf32>
  cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1> } do {
  %a = stablehlo.dynamic_slice %k, %i, sizes = [1] : (tensor<90xi32>, tensor<i32>) -> tensor<1xi32>
  %b = stablehlo.reshape %a : (tensor<1xi32>) -> tensor<i32>
  %d = stablehlo.dynamic_slice %v, %i, sizes = [1] : (tensor<90xf32>, tensor<i32>) -> tensor<1xf32>
  %q = stablehlo.dynamic_slice %p, %i, sizes = [1] : (tensor<90xi1>, tensor<i32>) -> tensor<1xi1>
  %e = stablehlo.dynamic_slice %s, %b, sizes = [1] : (tensor<9xf32>, tensor<i32>) -> tensor<1xf32>
  %f = stablehlo.add %d, %e : tensor<1xf32>
  %g = stablehlo.select %q, %e, %f : tensor<1xi1>, tensor<1xf32>
  %u = stablehlo.dynamic_update_slice %s, %g, %b : (tensor<9xf32>, tensor<1xf32>, tensor<i32>) -> tensor<9xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %u : tensor<i32>, tensor<9xf32> }
  return %r#1 : tensor<9xf32>
}
