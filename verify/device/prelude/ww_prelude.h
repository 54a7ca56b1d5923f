/*
 * What CUDA source takes for granted and NVRTC, which has no standard headers, does not define.
 * Included before every candidate; the standard headers that are served from memory add nothing.
 *
 * The types are those of libcu++ under NVRTC (int64_t is long long), and each macro is either
 * guarded or spelled as the toolkit spells it, so that every toolkit header may follow.
 */
#pragma once

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
typedef long long intmax_t;
typedef unsigned long long uintmax_t;
typedef unsigned int uint;

#ifndef INT8_MIN
#define INT8_MIN   (-128)
#define INT8_MAX   127
#define UINT8_MAX  255
#define INT16_MIN  (-32768)
#define INT16_MAX  32767
#define UINT16_MAX 65535
#define INT32_MIN  (-2147483647 - 1)
#define INT32_MAX  2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN  (-9223372036854775807LL - 1)
#define INT64_MAX  9223372036854775807LL
#define UINT64_MAX 18446744073709551615ULL
#define SIZE_MAX   18446744073709551615UL
#endif

#ifndef INT_MAX
#define CHAR_BIT   8
#define SCHAR_MIN  (-128)
#define SCHAR_MAX  127
#define UCHAR_MAX  255
#define CHAR_MIN   (-128)
#define CHAR_MAX   127
#define SHRT_MIN   (-32768)
#define SHRT_MAX   32767
#define USHRT_MAX  65535
#define INT_MIN    (-2147483647 - 1)
#define INT_MAX    2147483647
#define UINT_MAX   4294967295U
#define LONG_MIN   (-9223372036854775807L - 1)
#define LONG_MAX   9223372036854775807L
#define ULONG_MAX  18446744073709551615UL
#define LLONG_MIN  (-9223372036854775807LL - 1)
#define LLONG_MAX  9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#endif

#ifndef __INT_MAX__
#define __CHAR_BIT__      8
#define __INT_MAX__       2147483647
#define __LONG_MAX__      9223372036854775807L
#define __LONG_LONG_MAX__ 9223372036854775807LL
#endif

#ifndef FLT_MAX
#define FLT_RADIX      2
#define FLT_MANT_DIG   24
#define FLT_DIG        6
#define FLT_MIN_EXP    (-125)
#define FLT_MAX_EXP    128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MAX        3.402823466e+38F
#define FLT_MIN        1.175494351e-38F
#define FLT_EPSILON    1.192092896e-07F
#define FLT_TRUE_MIN   1.401298464e-45F
#define DBL_MANT_DIG   53
#define DBL_DIG        15
#define DBL_MIN_EXP    (-1021)
#define DBL_MAX_EXP    1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_10_EXP 308
#define DBL_MAX        1.7976931348623157e+308
#define DBL_MIN        2.2250738585072014e-308
#define DBL_EPSILON    2.2204460492503131e-16
#define DBL_TRUE_MIN   4.9406564584124654e-324
#endif

#ifndef __FLT_MAX__
#define __FLT_MAX__     3.402823466e+38F
#define __FLT_MIN__     1.175494351e-38F
#define __FLT_EPSILON__ 1.192092896e-07F
#define __DBL_MAX__     1.7976931348623157e+308
#define __DBL_MIN__     2.2250738585072014e-308
#define __DBL_EPSILON__ 2.2204460492503131e-16
#endif

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF __int_as_float(0x7f800000)
#define HUGE_VAL  __longlong_as_double(0x7ff0000000000000LL)
#endif

#ifndef M_PI
#define M_E        2.71828182845904523536
#define M_LOG2E    1.44269504088896340736
#define M_LOG10E   0.43429448190325182765
#define M_LN2      0.69314718055994530942
#define M_LN10     2.30258509299404568402
#define M_PI       3.14159265358979323846
#define M_PI_2     1.57079632679489661923
#define M_PI_4     0.78539816339744830962
#define M_1_PI     0.31830988618379067154
#define M_2_PI     0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2    1.41421356237309504880
#define M_SQRT1_2  0.70710678118654752440
#endif

/* Spelled as in math_constants.h, which may follow. */
#ifndef CUDART_INF_F
#define CUDART_INF_F            __int_as_float(0x7f800000U)
#define CUDART_NAN_F            __int_as_float(0x7fffffffU)
#define CUDART_MIN_DENORM_F     __int_as_float(0x00000001U)
#define CUDART_MAX_NORMAL_F     __int_as_float(0x7f7fffffU)
#define CUDART_NEG_ZERO_F       __int_as_float(0x80000000U)
#define CUDART_ZERO_F           0.0F
#define CUDART_ONE_F            1.0F
#define CUDART_SQRT_HALF_F      0.707106781F
#define CUDART_SQRT_TWO_F       1.414213562F
#define CUDART_THIRD_F          0.333333333F
#define CUDART_PIO4_F           0.785398163F
#define CUDART_PIO2_F           1.570796327F
#define CUDART_2_OVER_PI_F      0.636619772F
#define CUDART_SQRT_2_OVER_PI_F 0.797884561F
#define CUDART_PI_F             3.141592654F
#define CUDART_L2E_F            1.442695041F
#define CUDART_LN2_F            0.693147181F
#define CUDART_INF              __longlong_as_double(0x7ff0000000000000ULL)
#define CUDART_NAN              __longlong_as_double(0xfff8000000000000ULL)
#define CUDART_PI               3.1415926535897931e+0
#endif

namespace std
{
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intmax_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintmax_t;
using ::uintptr_t;
typedef decltype(nullptr) nullptr_t;

using ::abs;
using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::cbrt;
using ::ceil;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::fdim;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::frexp;
using ::hypot;
using ::ilogb;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::ldexp;
using ::lgamma;
using ::llrint;
using ::llround;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::logb;
using ::lrint;
using ::lround;
using ::modf;
using ::nearbyint;
using ::nextafter;
using ::pow;
using ::remainder;
using ::rint;
using ::round;
using ::scalbn;
using ::signbit;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::tgamma;
using ::trunc;

using ::acosf;
using ::asinf;
using ::atan2f;
using ::atanf;
using ::cbrtf;
using ::ceilf;
using ::copysignf;
using ::cosf;
using ::coshf;
using ::erfcf;
using ::erff;
using ::exp2f;
using ::expf;
using ::expm1f;
using ::fabsf;
using ::fdimf;
using ::floorf;
using ::fmaf;
using ::fmaxf;
using ::fminf;
using ::fmodf;
using ::hypotf;
using ::log10f;
using ::log1pf;
using ::log2f;
using ::logf;
using ::powf;
using ::rintf;
using ::roundf;
using ::sinf;
using ::sinhf;
using ::sqrtf;
using ::tanf;
using ::tanhf;
using ::truncf;

using ::memcpy;
using ::memset;
using ::printf;

template <class T> __device__ constexpr const T &min(const T &a, const T &b)
{
    return b < a ? b : a;
}
template <class T> __device__ constexpr const T &max(const T &a, const T &b)
{
    return a < b ? b : a;
}
template <class T, class Less> __device__ constexpr const T &min(const T &a, const T &b, Less less)
{
    return less(b, a) ? b : a;
}
template <class T, class Less> __device__ constexpr const T &max(const T &a, const T &b, Less less)
{
    return less(a, b) ? b : a;
}
template <class T> __device__ constexpr T min(initializer_list<T> list)
{
    T least = *list.begin();
    for (const T *at = list.begin(); at != list.end(); ++at)
        least = *at < least ? *at : least;
    return least;
}
template <class T> __device__ constexpr T max(initializer_list<T> list)
{
    T most = *list.begin();
    for (const T *at = list.begin(); at != list.end(); ++at)
        most = most < *at ? *at : most;
    return most;
}
template <class T>
__device__ constexpr const T &clamp(const T &value, const T &low, const T &high)
{
    return value < low ? low : high < value ? high : value;
}
template <class T> __device__ constexpr void swap(T &a, T &b)
{
    T old = a;
    a = b;
    b = old;
}

template <class T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    __device__ constexpr operator T() const
    {
        return v;
    }
    __device__ constexpr T operator()() const
    {
        return v;
    }
};
template <bool v> struct integral_constant<bool, v> {
    enum : bool { value = v };
    typedef bool value_type;
    typedef integral_constant type;
    __device__ constexpr operator bool() const
    {
        return v;
    }
    __device__ constexpr bool operator()() const
    {
        return v;
    }
};
template <bool v> using bool_constant = integral_constant<bool, v>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <class A, class B> struct is_same : false_type {
};
template <class A> struct is_same<A, A> : true_type {
};
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;

template <bool, class T = void> struct enable_if {
};
template <class T> struct enable_if<true, T> {
    typedef T type;
};
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;

template <bool, class A, class B> struct conditional {
    typedef A type;
};
template <class A, class B> struct conditional<false, A, B> {
    typedef B type;
};
template <bool b, class A, class B> using conditional_t = typename conditional<b, A, B>::type;

template <class T> struct remove_const {
    typedef T type;
};
template <class T> struct remove_const<const T> {
    typedef T type;
};
template <class T> struct remove_volatile {
    typedef T type;
};
template <class T> struct remove_volatile<volatile T> {
    typedef T type;
};
template <class T> struct remove_cv {
    typedef typename remove_const<typename remove_volatile<T>::type>::type type;
};
template <class T> struct remove_reference {
    typedef T type;
};
template <class T> struct remove_reference<T &> {
    typedef T type;
};
template <class T> struct remove_reference<T &&> {
    typedef T type;
};
template <class T> struct remove_pointer {
    typedef T type;
};
template <class T> struct remove_pointer<T *> {
    typedef T type;
};
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> struct decay {
    typedef remove_cv_t<remove_reference_t<T>> type;
};
template <class T> using decay_t = typename decay<T>::type;

/* Enumerators, not static members, wherever a class is not a template: a member would appear as a
 * .global in every PTX. */
template <class T> struct ww_number {
    enum : bool { integral = false, floating = false };
};
#define WW_INTEGRAL(type)                                                                          \
    template <> struct ww_number<type> {                                                           \
        enum : bool { integral = true, floating = false };                                         \
    };
#define WW_FLOATING(type)                                                                          \
    template <> struct ww_number<type> {                                                           \
        enum : bool { integral = false, floating = true };                                         \
    };
WW_INTEGRAL(bool)
WW_INTEGRAL(char)
WW_INTEGRAL(signed char)
WW_INTEGRAL(unsigned char)
WW_INTEGRAL(short)
WW_INTEGRAL(unsigned short)
WW_INTEGRAL(int)
WW_INTEGRAL(unsigned int)
WW_INTEGRAL(long)
WW_INTEGRAL(unsigned long)
WW_INTEGRAL(long long)
WW_INTEGRAL(unsigned long long)
WW_FLOATING(float)
WW_FLOATING(double)
#undef WW_INTEGRAL
#undef WW_FLOATING
template <class T> struct is_integral : bool_constant<ww_number<remove_cv_t<T>>::integral> {
};
template <class T> struct is_floating_point : bool_constant<ww_number<remove_cv_t<T>>::floating> {
};
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {
};
template <class T> struct is_pointer : false_type {
};
template <class T> struct is_pointer<T *> : true_type {
};
template <class T> constexpr bool is_integral_v = is_integral<T>::value;
template <class T> constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> constexpr bool is_pointer_v = is_pointer<T>::value;

template <class T> struct numeric_limits {
    enum : bool { is_specialized = false };
};
#define WW_INTEGER_LIMITS(type, low, high)                                                         \
    template <> struct numeric_limits<type> {                                                      \
        enum : bool {                                                                              \
            is_specialized = true,                                                                 \
            is_integer = true,                                                                     \
            has_infinity = false,                                                                  \
            is_signed = (type)(-1) < (type)(0)                                                     \
        };                                                                                         \
        enum : int { digits = int(sizeof(type)) * 8 - (is_signed ? 1 : 0) };                       \
        __device__ static constexpr type min()                                                     \
        {                                                                                          \
            return low;                                                                            \
        }                                                                                          \
        __device__ static constexpr type lowest()                                                  \
        {                                                                                          \
            return low;                                                                            \
        }                                                                                          \
        __device__ static constexpr type max()                                                     \
        {                                                                                          \
            return high;                                                                           \
        }                                                                                          \
    };
#define WW_FLOAT_LIMITS(type, least, most, eps, tiny, bits, inf, nan)                              \
    template <> struct numeric_limits<type> {                                                      \
        enum : bool {                                                                              \
            is_specialized = true,                                                                 \
            is_integer = false,                                                                    \
            has_infinity = true,                                                                   \
            is_signed = true                                                                       \
        };                                                                                         \
        enum : int { digits = bits };                                                              \
        __device__ static constexpr type min()                                                     \
        {                                                                                          \
            return least;                                                                          \
        }                                                                                          \
        __device__ static constexpr type lowest()                                                  \
        {                                                                                          \
            return -most;                                                                          \
        }                                                                                          \
        __device__ static constexpr type max()                                                     \
        {                                                                                          \
            return most;                                                                           \
        }                                                                                          \
        __device__ static constexpr type epsilon()                                                 \
        {                                                                                          \
            return eps;                                                                            \
        }                                                                                          \
        __device__ static constexpr type denorm_min()                                              \
        {                                                                                          \
            return tiny;                                                                           \
        }                                                                                          \
        __device__ static type infinity()                                                          \
        {                                                                                          \
            return inf;                                                                            \
        }                                                                                          \
        __device__ static type quiet_NaN()                                                         \
        {                                                                                          \
            return nan;                                                                            \
        }                                                                                          \
    };
WW_INTEGER_LIMITS(bool, false, true)
WW_INTEGER_LIMITS(char, -128, 127)
WW_INTEGER_LIMITS(signed char, -128, 127)
WW_INTEGER_LIMITS(unsigned char, 0, 255)
WW_INTEGER_LIMITS(short, -32768, 32767)
WW_INTEGER_LIMITS(unsigned short, 0, 65535)
WW_INTEGER_LIMITS(int, (-2147483647 - 1), 2147483647)
WW_INTEGER_LIMITS(unsigned int, 0, 4294967295U)
WW_INTEGER_LIMITS(long, (-9223372036854775807L - 1), 9223372036854775807L)
WW_INTEGER_LIMITS(unsigned long, 0, 18446744073709551615UL)
WW_INTEGER_LIMITS(long long, (-9223372036854775807LL - 1), 9223372036854775807LL)
WW_INTEGER_LIMITS(unsigned long long, 0, 18446744073709551615ULL)
WW_FLOAT_LIMITS(float, 1.175494351e-38F, 3.402823466e+38F, 1.192092896e-07F, 1.401298464e-45F, 24,
                __int_as_float(0x7f800000), __int_as_float(0x7fffffff))
WW_FLOAT_LIMITS(double, 2.2250738585072014e-308, 1.7976931348623157e+308, 2.2204460492503131e-16,
                4.9406564584124654e-324, 53, __longlong_as_double(0x7ff0000000000000LL),
                __longlong_as_double(0x7fffffffffffffffLL))
#undef WW_INTEGER_LIMITS
#undef WW_FLOAT_LIMITS

template <class T = void> struct plus {
    __device__ constexpr T operator()(const T &a, const T &b) const
    {
        return a + b;
    }
};
template <class T = void> struct multiplies {
    __device__ constexpr T operator()(const T &a, const T &b) const
    {
        return a * b;
    }
};
template <class T = void> struct less {
    __device__ constexpr bool operator()(const T &a, const T &b) const
    {
        return a < b;
    }
};
template <class T = void> struct greater {
    __device__ constexpr bool operator()(const T &a, const T &b) const
    {
        return a > b;
    }
};
}
