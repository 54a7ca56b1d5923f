#ifndef TESTS_UNIT_SOLVER_LEGAL_ZOO_H
#define TESTS_UNIT_SOLVER_LEGAL_ZOO_H

#include <string.h>

#include "solver/ir/ir.h"
#include "tests/unit/unit.h"

/*
 * Operators beside the library's, and what their statements are by the definitions in
 * solver/legal/structure.h; written down before the program was asked.
 *
 *   tensors  "x f32 M,N": inputs, and outputs behind '>'
 *   found    "2:RM(0)": letters of structures by statement as written, '(s)' the other statement
 *
 *   R reduction  M mergeable statistics  W weighted reduction  X rescaled accumulation
 *   B bounded summary state  N streaming normalisation  Q coupled numerator and denominator
 *   C contraction  S stencil  P scan  G gather
 */
struct zoo_case {
    const char *name, *dims, *tensors, *body, *found;
    const char *roles; /* "stmt: text" of the first contraction or stencil in it; NULL */
};

static const struct zoo_case zoo[] = {
    /* ---- statistics, written in several ways ---- */
    {"variance_raw", "'M':8,'N':64", "x f32 M,N > y f32 M",
     "a[m] = sum(n) x[m,n]|q[m] = sum(n) x[m,n] * x[m,n]|"
     "y[m] = q[m] / N - (a[m] / N) * (a[m] / N)",
     "0:RM 1:RM(0)", NULL},
    {"variance_means", "'M':8,'N':64", "x f32 M,N > y f32 M",
     "a[m] = sum(n) x[m,n] * 0.015625|q[m] = sum(n) 0.015625 * pow(x[m,n], 2)|"
     "y[m] = q[m] - pow(a[m], 2)",
     "0:RM 1:RM(0)", NULL},
    {"variance_unbiased", "'M':8,'N':64", "x f32 M,N > y f32 M",
     "a[m] = sum(n) x[m,n] / N|q[m] = sum(n) pow(a[m] - x[m,n], 2)|y[m] = q[m] / (N - 1)",
     "0:RM 1:RM(0)", NULL},
    {"variance_welford", "'M':8,'N':64", "x f32 N,M > y f32 M",
     "seq n: N {|u[n,m] = pad(u[n-1,m], f32(0)) + (x[n,m] - pad(u[n-1,m], f32(0))) / (n + 1)|"
     "q[n,m] = pad(q[n-1,m], f32(0)) + (x[n,m] - pad(u[n-1,m], f32(0))) * (x[n,m] - u[n,m])|}|"
     "y[m] = q[N-1,m] / N",
     "0:BP 1:M(0)BP", NULL},
    {"argmax_pair", "'M':8,'N':64", "x f32 M,N > y f32 M ; i i64 M",
     "y[m] = max(n) x[m,n]|i[m] = argmax(n) x[m,n]", "0:RM 1:RM(0)B", NULL},
    {"batch_norm_train", "'B':4,'C':8,'H':6,'W':6", "x f32 B,C,H,W ; g f32 C > y f32 B,C,H,W",
     "s[c] = sum(b,h,w) x[b,c,h,w]|q[c] = sum(b,h,w) pow(x[b,c,h,w] - s[c] / (B * H * W), 2)|"
     "y[b,c,h,w] = (x[b,c,h,w] - s[c] / (B * H * W)) / sqrt(q[c] / (B * H * W) + 1e-5) * g[c]",
     "0:RM 1:RM(0) 2:N(1)", NULL},
    {"instance_norm", "'B':4,'C':8,'L':36", "x f32 B,C,L > y f32 B,C,L",
     "s[b,c] = sum(l) x[b,c,l]|q[b,c] = sum(l) x[b,c,l] * x[b,c,l]|"
     "v[b,c] = q[b,c] / L - pow(s[b,c] / L, 2)|"
     "y[b,c,l] = (x[b,c,l] - s[b,c] / L) * rsqrt(v[b,c] + 1e-5)",
     "0:RM 1:RM(0) 3:N(1)", NULL},
    {"groupnorm_silu", "'B':2,'G':4,'D':3,'C':12,'L':20", "x f32 B,C,L ; g f32 C > y f32 B,C,L",
     "s[b,k:G] = sum(d:D,l) x[b,k*D+d,l]|"
     "q[b,k:G] = sum(d:D,l) pow(x[b,k*D+d,l] - s[b,k] / (D * L), 2)|"
     "z[b,c,l] = (x[b,c,l] - s[b,c/D] / (D * L)) * rsqrt(q[b,c/D] / (D * L) + 1e-5) * g[c]|"
     "y[b,c,l] = z[b,c,l] / (1 + exp(-z[b,c,l]))",
     "0:RM 1:RM(0) 2:N(1)", NULL},
    {"rmsnorm_residual", "'M':8,'N':64", "x f32 M,N ; r f32 M,N ; g f32 N > h f32 M,N ; y f32 M,N",
     "h[m,n] = x[m,n] + r[m,n]|s[m] = sum(n) h[m,n] * h[m,n]|"
     "y[m,n] = h[m,n] * rsqrt(s[m] / N + 1e-6) * g[n]",
     "1:RM 2:N(1)", NULL},
    {"l1_norm", "'M':8,'N':64", "x f32 M,N > y f32 M,N",
     "s[m] = sum(n) abs(x[m,n])|y[m,n] = x[m,n] / max(s[m], 1e-12)", "0:RM 1:N(0)", NULL},
    {"simplex", "'M':8,'N':64", "x f32 M,N > y f32 M,N",
     "s[m] = sum(n) abs(x[m,n])|y[m,n] = abs(x[m,n]) / (s[m] + 1e-6)", "0:RM 1:N(0)Q(0)", NULL},

    {"covariance", "'M':16,'N':5", "x f32 M,N > y f32 N,N",
     "s[n] = sum(m) x[m,n] / M|y[i,j] = sum(m) (x[m,i] - s[i]) * (x[m,j] - s[j]) / (M - 1)",
     "0:RM 1:RM(0)C", NULL},
    {"correlation", "'M':8,'N':16", "x f32 M,N ; w f32 M,N > y f32 M",
     "a[m] = sum(n) x[m,n]|b[m] = sum(n) w[m,n]|"
     "c[m] = sum(n) (x[m,n] - a[m] / N) * (w[m,n] - b[m] / N)|"
     "p[m] = sum(n) pow(x[m,n] - a[m] / N, 2)|q[m] = sum(n) pow(w[m,n] - b[m] / N, 2)|"
     "y[m] = c[m] / sqrt(p[m] * q[m])",
     "0:RM 1:RM 2:RM(1)W 3:RM(0) 4:RM(1)", NULL},

    /* ---- softmax and what has its structure ---- */
    {"softmax_temperature", "'M':8,'N':64", "x f32 M,N ; t f32 M > y f32 M,N",
     "k[m] = max(n) x[m,n]|e[m,n] = exp((x[m,n] - k[m]) / t[m])|s[m] = sum(n) e[m,n]|"
     "y[m,n] = e[m,n] * (1 / s[m])",
     "0:RM 2:RX(0) 3:N(2)Q(2)", NULL},
    {"softmax_base2_two_axes", "'B':4,'H':8,'W':8", "x f32 B,H,W > y f32 B,H,W",
     "k[b] = max(h,w) x[b,h,w]|s[b] = sum(h,w) exp2((x[b,h,w] - k[b]) * 1.4426950408889634)|"
     "y[b,h,w] = exp2(x[b,h,w] * 1.4426950408889634 - k[b] * 1.4426950408889634) / s[b]",
     "0:RM 1:RX(0) 2:N(1)Q(1)", NULL},
    {"softmin", "'M':8,'N':64", "x f32 M,N > y f32 M,N",
     "k[m] = min(n) x[m,n]|s[m] = sum(n) exp(k[m] - x[m,n])|y[m,n] = exp(k[m] - x[m,n]) / s[m]",
     "0:RM 1:RX(0) 2:N(1)Q(1)", NULL},
    {"softmax_masked", "'M':8,'N':64", "x f32 M,N ; k bool M,N > y f32 M,N",
     "t[m,n] = where(k[m,n], x[m,n], -inf)|a[m] = max(n) t[m,n]|"
     "e[m,n] = where(k[m,n], exp(x[m,n] - a[m]), 0)|s[m] = sum(n) e[m,n]|"
     "y[m,n] = e[m,n] / max(s[m], 1e-30)",
     "1:RM 3:RX(1) 4:N(3)Q(3)", NULL},
    {"logcumsumexp", "'M':8,'N':64", "x f32 M,N > y f32 M,N",
     "a[m,i:N] = max(j <= i) x[m,j]|s[m,i:N] = sum(j <= i) exp(x[m,j] - a[m,i])|"
     "y[m,i] = a[m,i] + log(s[m,i])",
     "0:BP 1:X(0)BP", NULL},
    {"online_softmax_seq", "'M':8,'N':64", "x f32 N,M > y f32 M",
     "seq n: N {|a[n,m] = max(pad(a[n-1,m], f32(-inf)), x[n,m])|"
     "s[n,m] = pad(s[n-1,m], f32(0)) * exp(pad(a[n-1,m], f32(-inf)) - a[n,m]) + exp(x[n,m] - "
     "a[n,m])|}|"
     "y[m] = a[N-1,m] + log(s[N-1,m])",
     "0:BP 1:X(0)BP", NULL},
    {"cross_entropy_smooth", "'M':8,'N':64", "x f32 M,N ; t i64 M > y f32 M",
     "a[m] = max(n) x[m,n]|s[m] = sum(n) exp(x[m,n] - a[m])|"
     "p[m,n] = x[m,n] - a[m] - log(s[m])|r[m] = sum(n) p[m,n]|"
     "y[m] = -0.9 * p[m,t[m]] - 0.1 / N * r[m]",
     "0:RM 1:RX(0) 2:N(1)Q(1) 3:RM 4:G", NULL},
    {"contrastive", "'M':8,'K':5", "x f32 M,K ; c f32 M,K > y f32 M",
     "s[i,j] = sum(k) x[i,k] * c[j,k]|t[i,j] = s[i,j] / 0.07|a[i] = max(j) t[i,j]|"
     "z[i] = sum(j) exp(t[i,j] - a[i])|y[i] = a[i] + log(z[i]) - t[i,i]",
     "0:RC 2:RM 3:RX(2) 4:Q(3)", NULL},
    {"kl_divergence", "'M':8,'N':64", "p f32 M,N ; q f32 M,N > y f32 M",
     "y[m] = sum(n) p[m,n] * (log(p[m,n]) - log(q[m,n]))", "0:RMW", NULL},
    {"focal_loss", "'M':8,'N':64", "x f32 M,N ; t f32 M,N > y f32 M",
     "p[m,n] = 1 / (1 + exp(-x[m,n]))|"
     "y[m] = sum(n) -pow(1 - p[m,n], 2) * t[m,n] * log(p[m,n])",
     "1:RMW", NULL},
    {"masked_mean", "'M':8,'N':64", "x f32 M,N ; k bool M,N > y f32 M",
     "a[m] = sum(n) where(k[m,n], x[m,n], 0)|c[m] = sum(n) f32(k[m,n])|"
     "y[m] = a[m] / max(c[m], 1)",
     "0:RMW 1:RM 2:Q(1)", NULL},

    /* ---- attention ---- */
    {"attention_window", "'T':32,'D':16", "q f32 T,D ; k f32 T,D ; v f32 T,D > y f32 T,D",
     "s[i,j] = sum(d) q[i,d] * k[j,d]|"
     "c[i,j] = where(j <= i && i - j < 8, s[i,j] * 0.25, -inf)|a[i] = max(j) c[i,j]|"
     "e[i,j] = exp(c[i,j] - a[i])|z[i] = sum(j) e[i,j]|p[i,j] = e[i,j] / z[i]|"
     "y[i,d] = sum(j) p[i,j] * v[j,d]",
     "0:RC 2:RMS 4:RX(2)S 5:N(4)Q(4) 6:RWX(2)CS", NULL},
    {"attention_grouped", "'B':2,'H':8,'G':2,'T':16,'D':8",
     "q f32 B,H,T,D ; k f32 B,G,T,D ; v f32 B,G,T,D > y f32 B,H,T,D",
     "s[b,h,i,j] = sum(d) q[b,h,i,d] * k[b,h/4,j,d]|a[b,h,i] = max(j) s[b,h,i,j] * 0.35|"
     "e[b,h,i,j] = exp(s[b,h,i,j] * 0.35 - a[b,h,i])|z[b,h,i] = sum(j) e[b,h,i,j]|"
     "o[b,h,i,d] = sum(j) e[b,h,i,j] * v[b,h/4,j,d]|y[b,h,i,d] = o[b,h,i,d] / z[b,h,i]",
     "0:RC 1:RM 3:RX(1) 4:RWX(1)C 5:N(3)Q(3)", "4: sum of products: batch b and h, M i, N d, K j"},
    {"attention_bias_cap", "'T':16,'D':8",
     "q f32 T,D ; k f32 T,D ; v f32 T,D ; b f32 T,T > y f32 T,D",
     "s[i,j] = sum(d) q[i,d] * k[j,d]|c[i,j] = 30 * tanh((s[i,j] + b[i,j]) / 30)|"
     "a[i] = max(j) c[i,j]|z[i] = sum(j) exp(c[i,j] - a[i])|"
     "y[i,d] = sum(j) exp(c[i,j] - a[i]) / z[i] * v[j,d]",
     "0:RC 2:RM 3:RX(2) 4:RWX(2)N(3)Q(3)C", NULL},
    {"linear_attention", "'T':16,'D':8,'E':8", "q f32 T,D ; k f32 T,D ; v f32 T,E > y f32 T,E",
     "f[j,d] = exp(k[j,d])|g[d,e] = sum(j) f[j,d] * v[j,e]|h[d] = sum(j) f[j,d]|"
     "o[i,e] = sum(d) q[i,d] * g[d,e]|z[i] = sum(d) q[i,d] * h[d]|y[i,e] = o[i,e] / z[i]",
     "1:RWC 2:RM 3:RC 4:RC 5:N(4)Q(4)", NULL},
    {"linear_attention_seq", "'T':16,'D':8,'E':8", "q f32 T,D ; k f32 T,D ; v f32 T,E > y f32 T,E",
     "seq t: T {|g[t,d,e] = pad(g[t-1,d,e], f32(0)) + k[t,d] * v[t,e]|"
     "y[t,e] = sum(d) q[t,d] * g[t,d,e]|}",
     "0:BP 1:RC", "1: sum of products: batch t, M e, K d"},

    /* ---- distances, choices ---- */
    {"distances_nearest", "'M':16,'N':12,'K':8", "x f32 M,K ; c f32 N,K > i i64 M ; y f32 M,K",
     "d[m,n] = sum(k) pow(x[m,k] - c[n,k], 2)|i[m] = argmin(n) d[m,n]|y[m,k] = c[i[m],k]",
     "0:RC 1:RMB 2:G", "0: multiplied out it has a sum of products: M m, N n, K k"},
    {"cosine", "'M':16,'K':8", "x f32 M,K ; c f32 M,K > y f32 M",
     "d[m] = sum(k) x[m,k] * c[m,k]|a[m] = sum(k) x[m,k] * x[m,k]|b[m] = sum(k) c[m,k] * c[m,k]|"
     "y[m] = d[m] / max(sqrt(a[m]) * sqrt(b[m]), 1e-8)",
     "0:RMW 1:RM 2:RM", NULL},
    {"histogram", "'N':64,'V':8", "i i64 N > y f32 V", "y[i[n]] += (n) 1.0", "0:G", NULL},
    {"one_hot_pick", "'M':8,'N':16", "x f32 M,N ; t i64 M > y f32 M",
     "y[m] = sum(n) where(n == t[m], x[m,n], 0)", "0:RMWG", NULL},
    {"embedding_bag", "'B':4,'J':6,'V':32,'E':8", "i i64 B,J ; w f32 B,J ; t f32 V,E > y f32 B,E",
     "y[b,e] = sum(j) w[b,j] * t[i[b,j],e]", "0:RWCG", "0: sum of products: batch b, M e, K j"},
    {"bilinear_sample", "'H':8,'W':8,'N':20", "x f32 H,W ; u i64 N ; v i64 N ; f f32 N > y f32 N",
     "y[n] = (1 - f[n]) * pad(x[u[n],v[n]]) + f[n] * pad(x[u[n],v[n] + 1])", "0:G", NULL},

    /* ---- windows ---- */
    {"conv1d_dilated", "'B':2,'C':3,'K':4,'L':32", "x f32 B,C,L ; w f32 K,C,3 > y f32 B,K,L",
     "y[b,k,l] = sum(c,r) pad(x[b,c,l+2*r-2]) * w[k,c,r]", "0:RCS",
     "0: sum of products: M b and l, N k, K c and r"},
    {"conv3d_strided", "'B':2,'C':3,'K':4,'P':6",
     "x f32 B,C,13,13,13 ; w f32 K,C,3,3,3 > y f32 B,K,P,P,P",
     "y[b,k,p,q,o] = sum(c,r,s,t) x[b,c,2*p+r,2*q+s,2*o+t] * w[k,c,r,s,t]", "0:RCS",
     "0: sum of products: M b and p and q and o, N k, K c and r and s and t"},
    {"conv_grouped", "'B':2,'G':2,'K':3,'L':16", "x f32 B,G,4,18 ; w f32 G,K,4,3 > y f32 B,G,K,L",
     "y[b,g,k,l] = sum(c,r) x[b,g,c,l+r] * w[g,k,c,r]", "0:RCS",
     "0: sum of products: batch g, M b and l, N k, K c and r"},
    {"conv_weights_first", "'B':2,'C':3,'K':4,'L':16", "w f32 K,C,3 ; x f32 B,C,18 > y f32 B,K,L",
     "y[b,k,l] = sum(c,r) w[k,c,r] * x[b,c,l+r]", "0:RCS",
     "0: sum of products: M b and l, N k, K c and r"},
    {"avgpool_blocks", "'B':2,'L':16", "x f32 B,32 > y f32 B,L",
     "y[b,l] = sum(r:2) x[b,2*l+r] * 0.5", "0:RM", NULL},
    {"token_shift", "'T':16,'D':8", "x f32 T,D ; u f32 D > y f32 T,D",
     "y[t,d] = x[t,d] * u[d] + pad(x[t-1,d]) * (1 - u[d])", "0:S", NULL},
    {"laplacian", "'H':16", "x f32 H,H > y f32 H,H",
     "y[i,j] = pad(x[i-1,j]) + pad(x[i+1,j]) + pad(x[i,j-1]) + pad(x[i,j+1]) - 4 * x[i,j]", "0:S",
     NULL},

    /* ---- scans ---- */
    {"cumsum_mask", "'M':8,'N':64", "x f32 M,N > y f32 M,N",
     "y[m,i] = sum(j:N) where(j <= i, x[m,j], 0)", "0:BP", NULL},
    {"cumprod_seq", "'M':8,'N':64", "x f32 N,M > y f32 N,M",
     "seq n: N {|y[n,m] = pad(y[n-1,m], 1) * x[n,m]|}", "0:BP", NULL},
    {"cumsum_begun", "'M':8,'N':64", "x f32 N,M > y f32 N,M",
     "seq n: N {|y[n,m] = n == 0 ? x[n,m] : pad(y[n-1,m], 0) + x[n,m]|}", "0:BP", NULL},
    {"im2col", "'B':2,'C':3,'K':4,'P':14", "x f32 B,C,16 ; w f32 K,C,3 > y f32 B,K,P",
     "u[b,p:P,c,r:3] = x[b,c,p+r]|y[b,k,p] = sum(c,r) u[b,p,c,r] * w[k,c,r]", "0:S 1:RC",
     "1: sum of products: M b and p, N k, K c and r"},
    {"quantised", "'M':8,'N':6,'K':5", "x f32 M,K ; w f32 K,N > y f32 M,N",
     "a[m] = max(k) abs(x[m,k])|q[m,k] = rint(x[m,k] * 127 / a[m])|"
     "y[m,n] = sum(k) q[m,k] * w[k,n] * a[m] / 127",
     "0:RM 1:N(0) 2:RC", "2: sum of products: M m, N n, K k"},
    {"ema", "'M':8,'N':64", "x f32 N,M ; a f32 M > y f32 N,M",
     "seq n: N {|y[n,m] = a[m] * pad(y[n-1,m], 0) + (1 - a[m]) * x[n,m]|}", "0:BP", NULL},
    {"ema_closed", "'M':8,'N':64", "x f32 M,N > y f32 M,N",
     "y[m,i] = sum(j <= i) pow(0.9, f32(i - j)) * x[m,j]", "0:BP", NULL},
    {"rnn", "'T':8,'B':4,'H':16", "x f32 T,B,H ; u f32 H,H > y f32 T,B,H",
     "seq t: T {|a[t,b:B,k:H] = sum(j) pad(y[t-1,b,j], 0) * u[k,j]|y[t,b,k] = tanh(a[t,b,k] + "
     "x[t,b,k])|}",
     "0:RCP 1:BP", "0: sum of products: M b, N k, K j, step t"},

    /* ---- products ---- */
    {"triangular", "'M':16,'N':12", "a f32 M,M ; b f32 M,N > y f32 M,N",
     "y[i,j] = sum(k) where(k <= i, a[i,k], 0) * b[k,j]", "0:RC",
     "0: sum of products: M i, N j, K k"},
    {"triangular_range", "'M':16,'N':12", "a f32 M,M ; b f32 M,N > y f32 M,N",
     "y[i,j] = sum(k <= i) a[i,k] * b[k,j]", "0:RC", "0: sum of products: M i, N j, K k"},
    {"outer", "'M':16,'N':12", "a f32 M ; b f32 N > y f32 M,N", "y[m,n] = a[m] * b[n]", "", NULL},
    {"einsum_batches", "'A':2,'B':3,'M':8,'N':6,'K':10",
     "x f32 B,M,A,K ; w f32 K,A,N,B > y f32 A,B,M,N", "y[a,b,m,n] = sum(k) x[b,m,a,k] * w[k,a,n,b]",
     "0:RC", "0: sum of products: batch a and b, M m, N n, K k"},
    {"bilinear_form", "'B':4,'I':8,'J':6,'O':5", "x f32 B,I ; w f32 O,I,J ; z f32 B,J > y f32 B,O",
     "y[b,o] = sum(i,j) x[b,i] * w[o,i,j] * z[b,j]", "0:RC",
     "0: sum of products: M b, N o, K i and j"},
    {"gated", "'M':8,'N':16,'K':12", "x f32 M,K ; u f32 K,N ; w f32 K,N > y f32 M,N",
     "a[m,n] = sum(k) x[m,k] * u[k,n]|b[m,n] = sum(k) x[m,k] * w[k,n]|"
     "y[m,n] = a[m,n] / (1 + exp(-a[m,n])) * b[m,n]",
     "0:RC 1:RC", NULL},
    {"complex_matmul", "'M':8,'N':6,'K':12", "a f32 2,M,K ; b f32 2,K,N > y f32 M,N ; z f32 M,N",
     "y[m,n] = sum(k) a[0,m,k] * b[0,k,n] - a[1,m,k] * b[1,k,n]|"
     "z[m,n] = sum(k) a[0,m,k] * b[1,k,n] + a[1,m,k] * b[0,k,n]",
     "0:RC 1:RC", "1: sum of products: M m, N n, K k"},

    /* ---- mixtures: several structures, statements of several operators in one ---- */
    {"gated_rmsnorm", "'M':8,'N':64", "x f32 M,N ; z f32 M,N ; g f32 N > y f32 M,N",
     "h[m,n] = x[m,n] * z[m,n] / (1 + exp(-z[m,n]))|q[m] = sum(n) h[m,n] * h[m,n]|"
     "y[m,n] = h[m,n] * rsqrt(q[m] / N + 1e-5) * g[n]",
     "1:RM 2:N(1)", NULL},
    {"swiglu_down", "'M':8,'N':16,'K':12",
     "x f32 M,K ; u f32 K,N ; w f32 K,N ; d f32 N,K > y f32 M,K",
     "a[m,n] = sum(k) x[m,k] * u[k,n]|b[m,n] = sum(k) x[m,k] * w[k,n]|"
     "h[m,n] = a[m,n] / (1 + exp(-a[m,n])) * b[m,n]|y[m,k] = sum(n) h[m,n] * d[n,k]",
     "0:RC 1:RC 3:RC", "3: sum of products: M m, N k, K n"},
    {"rotary_scores", "'T':16,'H':8", "q f32 T,16 ; k f32 T,16 ; c f32 T,H ; s f32 T,H > y f32 T,T",
     "a[t,h:H] = q[t,2*h] * c[t,h] - q[t,2*h+1] * s[t,h]|"
     "b[t,h:H] = q[t,2*h] * s[t,h] + q[t,2*h+1] * c[t,h]|"
     "d[t,h:H] = k[t,2*h] * c[t,h] - k[t,2*h+1] * s[t,h]|"
     "e[t,h:H] = k[t,2*h] * s[t,h] + k[t,2*h+1] * c[t,h]|"
     "y[i,j] = sum(h) a[i,h] * d[j,h] + b[i,h] * e[j,h]",
     "4:RC", "4: sum of products: M i, N j, K h"},
    {"softplus_attention", "'T':16,'D':8",
     "q f32 T,D ; k f32 T,D ; v f32 T,D ; b f32 T,T > y f32 T,D",
     "s[i,j] = sum(d) q[i,d] * k[j,d]|w[i,j] = log(1 + exp(s[i,j] * 0.35 + b[i,j]))|"
     "z[i] = sum(j) w[i,j]|o[i,d] = sum(j) w[i,j] * v[j,d]|y[i,d] = o[i,d] / z[i]",
     "0:RC 2:RM 3:RWC 4:N(2)Q(2)", NULL},
    {"maxpool3d", "'B':2,'P':5", "x f32 B,10,10,10 > y f32 B,P,P,P",
     "y[b,p,q,r] = max(u:3,v:3,w:3) pad(x[b,2*p+u-1,2*q+v-1,2*r+w-1], -inf)", "0:RMS", NULL},
    {"lse_pool", "'B':4,'L':30", "x f32 B,32 > y f32 B,L",
     "a[b,l:L] = max(r:3) x[b,l+r]|s[b,l] = sum(r:3) exp(x[b,l+r] - a[b,l])|"
     "y[b,l] = a[b,l] + log(s[b,l])",
     "0:RMS 1:RX(0)S", NULL},
    {"top1_gate", "'T':16,'D':8,'E':6", "x f32 T,D ; w f32 D,E > y f32 T ; i i64 T",
     "l[t,e] = sum(d) x[t,d] * w[d,e]|a[t] = max(e) l[t,e]|z[t] = sum(e) exp(l[t,e] - a[t])|"
     "i[t] = argmax(e) l[t,e]|y[t] = exp(l[t,i[t]] - a[t]) / z[t]",
     "0:RC 1:RM 2:RX(1) 3:RM(1)B 4:Q(2)G", NULL},
    {"weighted_variance", "'M':8,'N':64", "x f32 M,N ; w f32 M,N > y f32 M",
     "a[m] = sum(n) w[m,n]|s[m] = sum(n) w[m,n] * x[m,n]|c[m] = s[m] / a[m]|"
     "q[m] = sum(n) w[m,n] * pow(x[m,n] - c[m], 2)|y[m] = q[m] / a[m]",
     "0:RM 1:RMW 2:Q(0) 3:RM(1)W 4:Q(0)", NULL},
    {"weighted_covariance", "'M':8,'N':64", "x f32 M,N ; z f32 M,N ; w f32 M,N > y f32 M",
     "a[m] = sum(n) w[m,n]|s[m] = sum(n) w[m,n] * x[m,n]|t[m] = sum(n) w[m,n] * z[m,n]|"
     "c[m] = sum(n) w[m,n] * (x[m,n] - s[m] / a[m]) * (z[m,n] - t[m] / a[m])|y[m] = c[m] / a[m]",
     "0:RM 1:RMW 2:RMW 3:RM(2)WQ(0) 4:Q(0)", NULL},
    {"huber", "'M':8,'N':64", "x f32 M,N ; t f32 M,N > y f32 M",
     "d[m,n] = x[m,n] - t[m,n]|"
     "y[m] = sum(n) where(abs(d[m,n]) <= 1, 0.5 * d[m,n] * d[m,n], abs(d[m,n]) - 0.5) / N",
     "1:RM", NULL},
    {"mahalanobis", "'M':8,'K':12", "x f32 M,K ; u f32 K ; p f32 K,K > y f32 M",
     "d[m,k] = x[m,k] - u[k]|y[m] = sum(i,j) d[m,i] * p[i,j] * d[m,j]", "1:RC",
     "1: sum of products: M m, K i and j"},
    {"depthwise_norm", "'B':2,'L':16,'K':12", "x f32 B,18,K ; w f32 3,K > y f32 B,L,K",
     "c[b,l:L,k] = sum(r) x[b,l+r,k] * w[r,k]|s[b,l] = sum(k) c[b,l,k]|"
     "q[b,l] = sum(k) pow(c[b,l,k] - s[b,l] / K, 2)|"
     "y[b,l,k] = (c[b,l,k] - s[b,l] / K) * rsqrt(q[b,l] / K + 1e-5)",
     "0:RCS 1:RM 2:RM(1) 3:N(2)", "0: sum of products: batch k, M b and l, K r"},
    {"kl_of_softmaxes", "'M':8,'N':64", "x f32 M,N ; t f32 M,N > y f32 M",
     "a[m] = max(n) x[m,n]|z[m] = sum(n) exp(x[m,n] - a[m])|b[m] = max(n) t[m,n]|"
     "v[m] = sum(n) exp(t[m,n] - b[m])|y[m] = sum(n) exp(t[m,n] - b[m]) / v[m] * "
     "(t[m,n] - b[m] - log(v[m]) - (x[m,n] - a[m] - log(z[m])))",
     "0:RM 1:RX(0) 2:RM 3:RX(2) 4:RWX(2)N(3)Q(3)", NULL},
    {"variance_by_parts", "'M':8,'B':8", "x f32 M,64 > y f32 M",
     "p[m,b:B] = sum(j:8) x[m,8*b+j]|u[m,b:B] = sum(j:8) pow(x[m,8*b+j] - p[m,b] / 8, 2)|"
     "s[m] = sum(b) p[m,b]|y[m] = sum(b) u[m,b] + 8 * pow(p[m,b] / 8 - s[m] / 64, 2)",
     "0:RM 1:RM(0) 2:RM 3:RM", NULL},
    {"cosine_scores", "'M':16,'N':12,'K':8", "q f32 M,K ; k f32 N,K > y f32 M,N",
     "a[m] = sum(d) q[m,d] * q[m,d]|b[n] = sum(d) k[n,d] * k[n,d]|"
     "y[m,n] = sum(d) q[m,d] * rsqrt(a[m] + 1e-6) * (k[n,d] * rsqrt(b[n] + 1e-6))",
     "0:RM 1:RM 2:RN(1)C", "2: sum of products: M m, N n, K d"},
    {"power_iteration", "'M':16,'N':12", "w f32 M,N ; u f32 M > y f32 M",
     "v[j:N] = sum(i) w[i,j] * u[i]|n[] = sum(j) v[j] * v[j]|"
     "y[i] = sum(j) w[i,j] * (v[j] * rsqrt(n[] + 1e-6))",
     "0:RC 1:RM 2:RN(1)C", NULL},
    {"local_contrast", "'H':16", "x f32 H,H > y f32 H,H",
     "s[i:H,j:H] = sum(u:5,v:5) pad(x[i+u-2,j+v-2])|"
     "q[i:H,j:H] = sum(u:5,v:5) pow(pad(x[i+u-2,j+v-2]), 2)|"
     "y[i,j] = (x[i,j] - s[i,j] / 25) * rsqrt(q[i,j] / 25 - pow(s[i,j] / 25, 2) + 1e-5)",
     "0:RMS 1:RM(0)S", NULL},
    {"masked_pool_l2", "'B':4,'T':16,'D':8", "x f32 B,T,D ; k bool B,T > y f32 B,D",
     "a[b,d] = sum(t) where(k[b,t], x[b,t,d], 0)|c[b] = sum(t) f32(k[b,t])|"
     "p[b,d] = a[b,d] / max(c[b], 1)|n[b] = sum(d) p[b,d] * p[b,d]|"
     "y[b,d] = p[b,d] * rsqrt(max(n[b], 1e-12))",
     "0:RMW 1:RM 2:N(1)Q(1) 3:RM 4:N(3)", NULL},
    {"gated_scan", "'T':16,'D':8", "x f32 T,D ; g f32 T,D > y f32 T,D",
     "f[t,d] = 1 / (1 + exp(-g[t,d]))|"
     "seq t: T {|y[t,d] = f[t,d] * pad(y[t-1,d], f32(0)) + (1 - f[t,d]) * x[t,d]|}",
     "1:BP", NULL},

    /* ---- more of them ---- */
    {"two_way_contrast", "'M':8,'K':5", "x f32 M,K ; c f32 M,K > y f32 M ; u f32 M",
     "s[i,j] = sum(k) x[i,k] * c[j,k]|a[i] = max(j) s[i,j]|z[i] = sum(j) exp(s[i,j] - a[i])|"
     "b[j] = max(i) s[i,j]|w[j] = sum(i) exp(s[i,j] - b[j])|y[i] = a[i] + log(z[i]) - s[i,i]|"
     "u[j] = b[j] + log(w[j]) - s[j,j]",
     "0:RC 1:RM 2:RX(1) 3:RM 4:RX(3) 5:Q(2) 6:Q(4)", NULL},
    {"attention_sloped", "'T':16,'D':8", "q f32 T,D ; k f32 T,D ; v f32 T,D > y f32 T,D",
     "s[i,j] = sum(d) q[i,d] * k[j,d]|c[i,j] = j <= i ? s[i,j] * 0.25 - 0.1 * f32(i - j) : -inf|"
     "a[i] = max(j) c[i,j]|z[i] = sum(j) exp(c[i,j] - a[i])|"
     "o[i,d] = sum(j) exp(c[i,j] - a[i]) * v[j,d]|y[i,d] = o[i,d] / z[i]",
     "0:RC 2:RM 3:RX(2) 4:RWX(2)C 5:N(3)Q(3)", NULL},
    {"gated_conv", "'B':2,'C':3,'K':4,'L':16",
     "x f32 B,C,L ; w f32 K,C,3 ; u f32 K,C,3 > y f32 B,K,L",
     "a[b:B,k,l:L] = sum(c:C,r) pad(x[b,c,l-2*r]) * w[k,c,r]|"
     "g[b:B,k,l:L] = sum(c:C,r) pad(x[b,c,l-2*r]) * u[k,c,r]|"
     "y[b,k,l] = tanh(a[b,k,l]) / (1 + exp(-g[b,k,l]))",
     "0:RCS 1:RCS", NULL},
    {"conv_folded_norm", "'B':2,'C':3,'K':4,'L':16",
     "x f32 B,C,18 ; w f32 K,C,3 ; u f32 K ; v f32 K ; g f32 K > y f32 B,K,L",
     "a[b,k,l:L] = sum(c,r) x[b,c,l+r] * w[k,c,r]|"
     "y[b,k,l] = (a[b,k,l] - u[k]) * rsqrt(v[k] + 1e-5) * g[k]",
     "0:RCS", NULL},
    {"softmax_entropy", "'M':8,'N':64", "x f32 M,N > y f32 M",
     "a[m] = max(n) x[m,n]|z[m] = sum(n) exp(x[m,n] - a[m])|"
     "y[m] = sum(n) exp(x[m,n] - a[m]) / z[m] * (log(z[m]) + a[m] - x[m,n])",
     "0:RM 1:RX(0) 2:RWX(0)N(1)Q(1)", NULL},
    {"correlation_raw", "'M':8,'N':16", "x f32 M,N ; w f32 M,N > y f32 M",
     "a[m] = sum(n) x[m,n]|b[m] = sum(n) w[m,n]|c[m] = sum(n) x[m,n] * w[m,n]|"
     "p[m] = sum(n) x[m,n] * x[m,n]|q[m] = sum(n) w[m,n] * w[m,n]|"
     "y[m] = (N * c[m] - a[m] * b[m]) * rsqrt((N * p[m] - a[m] * a[m]) * (N * q[m] - b[m] * b[m]))",
     "0:RM 1:RM 2:RMW 3:RM(0) 4:RM(1)", NULL},
    {"geometric_mean", "'M':8,'N':16", "x f32 M,N > y f32 M",
     "s[m] = sum(n) log(abs(x[m,n]) + 1e-6)|y[m] = exp(s[m] / N)", "0:RM", NULL},
    {"margin", "'M':8,'N':16", "x f32 M,N > y f32 M",
     "a[m] = max(n) x[m,n]|i[m] = argmax(n) x[m,n]|"
     "b[m] = max(n) (n == i[m] ? -inf : x[m,n])|y[m] = a[m] - b[m]",
     "0:RM 1:RM(0)B 2:RM", NULL},
    {"soft_argmax", "'M':8,'N':16", "x f32 M,N > y f32 M",
     "a[m] = max(n) x[m,n]|e[m,n] = exp(x[m,n] - a[m])|z[m] = sum(n) e[m,n]|"
     "o[m] = sum(n) e[m,n] * f32(n)|y[m] = o[m] / z[m]",
     "0:RM 2:RX(0) 3:RWX(0) 4:Q(2)", NULL},
    {"adam_steps", "'T':8,'N':16", "g f32 T,N > y f32 T,N",
     "seq t: T {|m[t,n:N] = 0.9 * pad(m[t-1,n], f32(0)) + 0.1 * g[t,n]|"
     "v[t,n:N] = 0.99 * pad(v[t-1,n], f32(0)) + 0.01 * g[t,n] * g[t,n]|}|"
     "y[t,n] = m[t,n] / (sqrt(v[t,n]) + 1e-8)",
     "0:BP 1:BP", NULL},
    {"gram", "'B':2,'C':4,'H':5,'W':6", "x f32 B,C,H,W > y f32 B,C,C",
     "y[b,i,j] = sum(h,w) x[b,i,h,w] * x[b,j,h,w] / (H * W)", "0:RC",
     "0: sum of products: batch b, M i, N j, K h and w"},
    {"squeeze_excite", "'B':2,'C':8,'R':3,'L':20",
     "x f32 B,C,L ; u f32 C,R ; v f32 R,C > y f32 B,C,L",
     "s[b,c] = sum(l) x[b,c,l] / L|h[b,r] = sum(c) s[b,c] * u[c,r]|"
     "g[b,c] = sum(r) max(h[b,r], 0) * v[r,c]|y[b,c,l] = x[b,c,l] / (1 + exp(-g[b,c]))",
     "0:RM 1:RC 2:RC", NULL},
    {"deformed_conv", "'B':2,'C':3,'K':4,'L':16",
     "x f32 B,C,L ; o i64 L,3 ; w f32 K,C,3 > y f32 B,K,L",
     "y[b,k,l] = sum(c,r) pad(x[b,c,l+r-1+o[l,r]]) * w[k,c,r]", "0:RWCG",
     "0: sum of products: M b and l, N k, K c and r"},
    {"split_k_by_hand", "'M':8,'N':6,'C':4", "a f32 M,32 ; b f32 32,N > y f32 M,N",
     "p[c:C,m,n:N] = sum(k:8) a[m,8*c+k] * b[8*c+k,n]|y[m,n] = sum(c) p[c,m,n]", "0:RC 1:RM",
     "0: sum of products: batch c, M m, N n, K k"},
    {"toeplitz", "'N':16", "t f32 31 ; x f32 N > y f32 N", "y[i] = sum(j) t[i-j+N-1] * x[j]",
     "0:RCS", "0: sum of products: M i, K j"},
    {"logistic_loss", "'M':8,'N':16", "x f32 M,N ; t f32 M,N > y f32 M",
     "y[m] = sum(n) max(x[m,n], 0) - x[m,n] * t[m,n] + log(1 + exp(-abs(x[m,n])))", "0:RM", NULL},
    {"low_rank_adapter", "'M':8,'K':12,'R':3,'N':6",
     "x f32 M,K ; w f32 K,N ; a f32 K,R ; b f32 R,N > y f32 M,N",
     "h[m,r] = sum(k) x[m,k] * a[k,r]|u[m,n] = sum(k) x[m,k] * w[k,n]|"
     "v[m,n] = sum(r) h[m,r] * b[r,n]|y[m,n] = u[m,n] + 2 * v[m,n]",
     "0:RC 1:RC 2:RC", NULL},
    {"expert_mixture", "'T':8,'E':4,'D':6", "l f32 T,E ; f f32 T,E,D > y f32 T,D",
     "a[t] = max(e) l[t,e]|z[t] = sum(e) exp(l[t,e] - a[t])|"
     "y[t,d] = sum(e) exp(l[t,e] - a[t]) / z[t] * f[t,e,d]",
     "0:RM 1:RX(0) 2:RWX(0)N(1)Q(1)C", "2: sum of products: batch t, M d, K e"},
};

/* The spec of a case. */
static inline struct str zoo_spec(struct arena *arena, const struct zoo_case *c)
{
    struct buf out;
    const char *role = "input", *between = "";
    buf_init(&out, arena, 1 << 16);
    buf_printf(&out, "{'spec':1,'name':'%s','dims':{%s},'tensors':[", c->name, c->dims);
    for (const char *at = c->tensors; *at;) {
        char name[16], dtype[16], shape[64];
        int used = 0;
        if (strspn(at, " ;") > 0)
            at += strspn(at, " ;");
        if (*at == '>') {
            role = "output";
            at++;
            continue;
        }
        assert_int_equal(sscanf(at, "%15s %15s %63s%n", name, dtype, shape, &used), 3);
        buf_printf(&out, "%s{'name':'%s','role':'%s','dtype':'%s','shape':[", between, name, role,
                   dtype);
        for (const char *dim = shape, *comma = ""; *dim != '\0'; comma = ",") {
            int length = (int)strcspn(dim, ",");
            bool number = *dim >= '0' && *dim <= '9';
            buf_printf(&out, number ? "%s%.*s" : "%s'%.*s'", comma, length, dim);
            dim += length + (dim[length] == ',');
        }
        buf_printf(&out, "]%s}",
                   strcmp(dtype, "i64") == 0 && strcmp(role, "input") == 0
                       ? ",'fill':{'kind':'ints','low':0,'high':7}"
                       : "");
        between = ",";
        at += used;
    }
    buf_text(&out, "],'body':['");
    for (const char *at = c->body; *at; at++)
        if (*at == '|')
            buf_text(&out, "','");
        else
            buf_char(&out, *at);
    buf_text(&out, "'],'policy':{'finite_inputs':true},'tracks':{'f32':{}},"
                   "'shapes':{'target':[{}]}}");
    for (size_t i = 0; i < out.len; i++)
        if (out.at[i] == '\'')
            out.at[i] = '"';
    return buf_view(&out);
}

static inline const struct op *zoo_op(struct arena *arena, const struct zoo_case *c)
{
    const struct op *op;
    struct err err = {0};
    assert_ok(op_parse(arena, zoo_spec(arena, c), c->name, NULL, &op, &err));
    return op;
}

#endif
