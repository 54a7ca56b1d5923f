#!/bin/sh
# Installs what a target of the Makefile needs and this machine lacks, on Debian 12 and Ubuntu 24.04.
#
#     deps.sh demo|check|check-all      each list contains the one before it
#     deps.sh which-clang-format        prints a clang-format of version 14, or nothing
#
# What is there is found by trying it, so a compiler in an unusual place counts.  Packages come from
# apt, as root or through sudo.  NVRTC: an installed CUDA toolkit, else NVIDIA's wheels, pinned by hash
# in tools/nvrtc-wheels.txt, unpacked into build/nvrtc.  Without it kernels can not be compiled here,
# but stored PTX still runs, so that is a warning, not an error.
set -eu
list=$1
stamp=build/deps/$list
missing=

compiles() { # a C program on stdin, compiler and options as arguments
    mkdir -p build/deps
    "$@" -x c - -o build/deps/probe >/dev/null 2>&1
}

need_command() { # COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

need_header() { # HEADER PACKAGE
    printf '#include <%s>\n' "$1" | gcc -E -x c - >/dev/null 2>&1 || missing="$missing $2"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

install_missing() {
    [ -n "$missing" ] || return 0
    echo "deps: installing ${missing# }"
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "deps: this machine has no apt-get; please install: ${missing# }" >&2
        exit 1
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
        echo "deps: neither root nor sudo here; as root: apt-get install ${missing# }" >&2
        exit 1
    fi
    as_root apt-get update -q -o Acquire::Retries=3 >build/deps/apt.log 2>&1 ||
        echo "deps: apt-get update failed (build/deps/apt.log); trying with the lists at hand" >&2
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        -o Acquire::Retries=3 $missing >>build/deps/apt.log 2>&1 || {
        tail -n 5 build/deps/apt.log >&2
        echo "deps: could not install; as root: apt-get install ${missing# }" >&2
        return 1
    }
    missing=
}

have_pip() { python3 -m pip --version >/dev/null 2>&1; }

# Wheels of a requirements file, hashes checked by pip, unpacked into a folder that appears whole.
unpack_wheels() { # REQUIREMENTS FOLDER
    if [ "$(uname -m)" != x86_64 ]; then
        echo "deps: the wheels of $1 are for x86_64 only" >&2
        return 1
    fi
    if ! have_pip || ! command -v python3 >/dev/null; then
        missing='python3 python3-pip'
        install_missing || return 1
    fi
    rm -rf build/deps/wheels "$2.new"
    mkdir -p build/deps/wheels "$2.new"
    python3 -m pip download -q --disable-pip-version-check --no-deps --require-hashes \
        --only-binary :all: -d build/deps/wheels -r "$1" || return 1
    for wheel in build/deps/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" "$2.new" || return 1
    done
    rm -rf build/deps/wheels "$2"
    rm -f "$2.new"/nvidia/cu13/lib/*.alt.so*
    mv "$2.new" "$2"
}

has_nvrtc() {
    for folder in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr/local/cuda-*; do
        for lib in lib64 lib targets/x86_64-linux/lib; do
            for file in "$folder/$lib"/libnvrtc.so.1[1-9]*; do
                [ -e "$file" ] && return 0
            done
        done
    done
    [ -e build/nvrtc/nvidia/cu13/lib/libnvrtc.so.13 ] ||
        /sbin/ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so\.1[1-9]'
}

get_nvrtc() {
    has_nvrtc && return 0
    echo "deps: no CUDA toolkit here; fetching NVRTC (95 MB)"
    unpack_wheels tools/nvrtc-wheels.txt build/nvrtc && return 0
    echo "deps: no NVRTC: kernels can not be compiled here, and tests that do will skip" >&2
    return 1
}

wheel_format=build/clang-format/clang_format/data/bin/clang-format

which_clang_format() {
    for program in clang-format-14 clang-format $wheel_format; do
        if "$program" --version 2>/dev/null | grep -q 'version 14\.'; then
            echo "$program"
            return 0
        fi
    done
    return 1
}

get_clang_format() {
    which_clang_format >/dev/null && return 0
    missing=clang-format-14
    install_missing && return 0
    missing=
    echo "deps: no package of clang-format 14 here; fetching its wheel"
    unpack_wheels tools/format-wheel.txt build/clang-format
    chmod +x "$wheel_format"
}

get_clang() {
    need_command clang clang
    install_missing
    version=$(clang -dumpversion | cut -d. -f1)
    echo 'int LLVMFuzzerTestOneInput(const void *d, unsigned long n) { return !d && n; }' |
        compiles clang -fsanitize=fuzzer,address,undefined || missing="libclang-rt-$version-dev"
    install_missing
}

if [ "$list" = which-clang-format ]; then
    which_clang_format || true
    exit 0
fi

fresh=yes
for input in /var/lib/dpkg/status tools/deps.sh tools/nvrtc-wheels.txt tools/format-wheel.txt; do
    [ -e "$input" ] && [ ! "$stamp" -nt "$input" ] && fresh=
done
[ -n "$fresh" ] && exit 0
mkdir -p build/deps

need_command gcc gcc
need_header stdlib.h libc6-dev
need_header jansson.h libjansson-dev
need_header sqlite3.h libsqlite3-dev
need_header curl/curl.h libcurl4-openssl-dev
case $list in
demo) ;;
check | check-all) need_header cmocka.h libcmocka-dev ;;
*) echo "usage: deps.sh demo|check|check-all|which-clang-format" >&2; exit 2 ;;
esac
install_missing
case $list in
check) get_clang_format ;;
check-all) get_clang_format; get_clang ;;
esac
if get_nvrtc; then
    touch "$stamp"
fi
