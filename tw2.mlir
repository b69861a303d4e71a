module @jit_f {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<1x3xf32>
    %c = stablehlo.constant dense<0> : tensor<1x3xi32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<5> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<5x3xf32>
    %0 = stablehlo.multiply %arg1, %cst_3 : tensor<5x3xf32>
    %1 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
    %2:2 = "stablehlo.case"(%1) ({
      %4 = stablehlo.slice %arg1 [0:1, 0:3] : (tensor<5x3xf32>) -> tensor<1x3xf32>
      %5 = stablehlo.reshape %4 : (tensor<1x3xf32>) -> tensor<3xf32>
      %6 = stablehlo.optimization_barrier %5 : tensor<3xf32>
      %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %c_5 = stablehlo.constant dense<4> : tensor<i32>
      %7 = stablehlo.optimization_barrier %c_5 : tensor<i32>
      %8 = stablehlo.compare EQ, %7, %c_5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %9 = stablehlo.select %8, %cst_4, %cst_6 : tensor<i1>, tensor<f32>
      %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
      %11 = stablehlo.optimization_barrier %c_1 : tensor<i32>
      %12 = stablehlo.compare EQ, %11, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %13 = stablehlo.select %12, %cst_4, %cst_6 : tensor<i1>, tensor<f32>
      %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
      %15:4 = stablehlo.while(%iterArg = %c_2, %iterArg_7 = %6, %iterArg_8 = %10, %iterArg_9 = %14) : tensor<i32>, tensor<3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
      cond {
        %16 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %16 : tensor<i1>
      } do {
        %16 = stablehlo.dynamic_slice %arg1, %iterArg, %c_2, sizes = [1, 3] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %17 = stablehlo.reshape %16 : (tensor<1x3xf32>) -> tensor<3xf32>
        %18 = stablehlo.add %iterArg_7, %17 : tensor<3xf32>
        %19 = stablehlo.multiply %iterArg_7, %17 : tensor<3xf32>
        %20 = stablehlo.reshape %19 : (tensor<3xf32>) -> tensor<1x3xf32>
        %21 = stablehlo.iota dim = 1 : tensor<1x3xi32>
        %22 = stablehlo.compare GE, %21, %c : (tensor<1x3xi32>, tensor<1x3xi32>) -> tensor<1x3xi1>
        %23 = stablehlo.select %22, %20, %cst : tensor<1x3xi1>, tensor<1x3xf32>
        %24 = stablehlo.dynamic_update_slice %iterArg_8, %23, %iterArg, %c_2 : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
        %25 = stablehlo.reshape %iterArg_7 : (tensor<3xf32>) -> tensor<1x3xf32>
        %26 = stablehlo.select %22, %25, %cst : tensor<1x3xi1>, tensor<1x3xf32>
        %27 = stablehlo.dynamic_update_slice %iterArg_9, %26, %iterArg, %c_2 : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
        %28 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        stablehlo.return %28, %18, %24, %27 : tensor<i32>, tensor<3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
      }
      stablehlo.return %15#2, %15#3 : tensor<5x3xf32>, tensor<5x3xf32>
    }, {
      %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %4 = stablehlo.optimization_barrier %c_0 : tensor<i32>
      %5 = stablehlo.compare EQ, %4, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %6 = stablehlo.select %5, %cst_4, %cst_5 : tensor<i1>, tensor<f32>
      %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
      %c_6 = stablehlo.constant dense<2> : tensor<i32>
      %8 = stablehlo.optimization_barrier %c_6 : tensor<i32>
      %9 = stablehlo.compare EQ, %8, %c_6 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %10 = stablehlo.select %9, %cst_4, %cst_5 : tensor<i1>, tensor<f32>
      %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
      stablehlo.return %7, %11 : tensor<5x3xf32>, tensor<5x3xf32>
    }) : (tensor<i32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
    %3:2 = "stablehlo.case"(%1) ({
      %4 = stablehlo.slice %arg1 [0:1, 0:3] : (tensor<5x3xf32>) -> tensor<1x3xf32>
      %5 = stablehlo.reshape %4 : (tensor<1x3xf32>) -> tensor<3xf32>
      %6 = stablehlo.optimization_barrier %5 : tensor<3xf32>
      %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %c_5 = stablehlo.constant dense<6> : tensor<i32>
      %7 = stablehlo.optimization_barrier %c_5 : tensor<i32>
      %8 = stablehlo.compare EQ, %7, %c_5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %9 = stablehlo.select %8, %cst_4, %cst_6 : tensor<i1>, tensor<f32>
      %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
      %c_7 = stablehlo.constant dense<7> : tensor<i32>
      %11 = stablehlo.optimization_barrier %c_7 : tensor<i32>
      %12 = stablehlo.compare EQ, %11, %c_7 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %13 = stablehlo.select %12, %cst_4, %cst_6 : tensor<i1>, tensor<f32>
      %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
      %15:4 = stablehlo.while(%iterArg = %c_2, %iterArg_8 = %6, %iterArg_9 = %10, %iterArg_10 = %14) : tensor<i32>, tensor<3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
      cond {
        %16 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %16 : tensor<i1>
      } do {
        %16 = stablehlo.dynamic_slice %arg1, %iterArg, %c_2, sizes = [1, 3] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %17 = stablehlo.reshape %16 : (tensor<1x3xf32>) -> tensor<3xf32>
        %18 = stablehlo.add %iterArg_8, %17 : tensor<3xf32>
        %19 = stablehlo.multiply %iterArg_8, %17 : tensor<3xf32>
        %20 = stablehlo.reshape %19 : (tensor<3xf32>) -> tensor<1x3xf32>
        %21 = stablehlo.iota dim = 1 : tensor<1x3xi32>
        %22 = stablehlo.compare GE, %21, %c : (tensor<1x3xi32>, tensor<1x3xi32>) -> tensor<1x3xi1>
        %23 = stablehlo.select %22, %20, %cst : tensor<1x3xi1>, tensor<1x3xf32>
        %24 = stablehlo.dynamic_update_slice %iterArg_9, %23, %iterArg, %c_2 : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
        %25 = stablehlo.reshape %iterArg_8 : (tensor<3xf32>) -> tensor<1x3xf32>
        %26 = stablehlo.select %22, %25, %cst : tensor<1x3xi1>, tensor<1x3xf32>
        %27 = stablehlo.dynamic_update_slice %iterArg_10, %26, %iterArg, %c_2 : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
        %28 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        stablehlo.return %28, %18, %24, %27 : tensor<i32>, tensor<3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
      }
      stablehlo.return %15#2, %15#3 : tensor<5x3xf32>, tensor<5x3xf32>
    }, {
      %4 = stablehlo.optimization_barrier %0 : tensor<5x3xf32>
      %5 = stablehlo.iota dim = 0 : tensor<5x3xi32>
      %c_4 = stablehlo.constant dense<-3> : tensor<5x3xi32>
      %6 = stablehlo.compare GE, %5, %c_4 : (tensor<5x3xi32>, tensor<5x3xi32>) -> tensor<5x3xi1>
      %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<5x3xf32>
      %7 = stablehlo.select %6, %0, %cst_5 : tensor<5x3xi1>, tensor<5x3xf32>
      stablehlo.return %4, %7 : tensor<5x3xf32>, tensor<5x3xf32>
    }) : (tensor<i32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
    return %2#0, %2#1, %3#0, %3#1, %0 : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
  }
}
