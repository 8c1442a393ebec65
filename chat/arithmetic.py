"""Exact arithmetic for the ``calculate`` tool: fractions inside, no names, no calls, bounded size."""

import ast
from collections.abc import Callable
from fractions import Fraction
from operator import add, floordiv, mod, mul, neg, pos, sub, truediv

from memoryapp.errors import InvalidInputError

MAX_CHARS = 300
MAX_BITS = 4_096  # of a numerator or denominator; keeps any expression within milliseconds
MAX_EXPONENT = 1_000
DECIMALS = 12

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Fraction], Fraction]] = {ast.UAdd: pos, ast.USub: neg}


def calculate(expression: str) -> str:
    """The value of ``+ - * / // % **`` and parentheses over numbers, as a decimal; "≈" marks a rounded one.

    Raises InvalidInputError for anything else, for division by zero, and for numbers too large.
    """
    if len(expression) > MAX_CHARS:
        raise InvalidInputError(f"An expression has at most {MAX_CHARS} characters.")
    source = expression.replace("^", "**").replace("×", "*").replace("÷", "/").replace("−", "-").strip()
    try:
        return _decimal(_value(ast.parse(source, mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidInputError(
            "This is not an arithmetic expression of numbers, + - * / // % ** and ( )."
        ) from error
    except ZeroDivisionError as error:
        raise InvalidInputError("Division by zero.") from error


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError
        case ast.Constant(value=int() | float()):
            return Fraction(ast.unparse(node))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_power(_value(left), _value(right)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(Fraction(_BINARY[type(op)](_value(left), _value(right))))
    raise ValueError


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT or bits * abs(exponent) > MAX_BITS:
        raise InvalidInputError("Exponents are whole numbers, and the result must not be huge.")
    return Fraction(base**exponent.numerator)


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise InvalidInputError("The numbers get too large.")
    return value


def _decimal(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    scaled = round(value * 10**DECIMALS)
    digits = str(abs(scaled)).rjust(DECIMALS + 1, "0")
    text = f"{digits[:-DECIMALS]}.{digits[-DECIMALS:]}".rstrip("0").rstrip(".")
    sign = "-" if value < 0 else ""
    return ("" if Fraction(scaled, 10**DECIMALS) == value else "≈ ") + sign + text
