/* Decimal numbers to the nearest double. */
#include "base/base.h"

#include <string.h>

#include "adapter/decimal_int.h"

/* 5^q for q = -27..27 as the 128 bits behind the leading one, truncated above 0 and rounded up below. */
enum { POWER_MAX = 27 };
static const struct {
	uint64_t high, low;
} powers_of_five[2 * POWER_MAX + 1] = {
	{0x9e74d1b791e07e48, 0x775ea264cf55347e},
	{0xc612062576589dda, 0x95364afe032a819e},
	{0xf79687aed3eec551, 0x3a83ddbd83f52205},
	{0x9abe14cd44753b52, 0xc4926a9672793543},
	{0xc16d9a0095928a27, 0x75b7053c0f178294},
	{0xf1c90080baf72cb1, 0x5324c68b12dd6339},
	{0x971da05074da7bee, 0xd3f6fc16ebca5e04},
	{0xbce5086492111aea, 0x88f4bb1ca6bcf585},
	{0xec1e4a7db69561a5, 0x2b31e9e3d06c32e6},
	{0x9392ee8e921d5d07, 0x3aff322e62439fd0},
	{0xb877aa3236a4b449, 0x09befeb9fad487c3},
	{0xe69594bec44de15b, 0x4c2ebe687989a9b4},
	{0x901d7cf73ab0acd9, 0x0f9d37014bf60a11},
	{0xb424dc35095cd80f, 0x538484c19ef38c95},
	{0xe12e13424bb40e13, 0x2865a5f206b06fba},
	{0x8cbccc096f5088cb, 0xf93f87b7442e45d4},
	{0xafebff0bcb24aafe, 0xf78f69a51539d749},
	{0xdbe6fecebdedd5be, 0xb573440e5a884d1c},
	{0x89705f4136b4a597, 0x31680a88f8953031},
	{0xabcc77118461cefc, 0xfdc20d2b36ba7c3e},
	{0xd6bf94d5e57a42bc, 0x3d32907604691b4d},
	{0x8637bd05af6c69b5, 0xa63f9a49c2c1b110},
	{0xa7c5ac471b478423, 0x0fcf80dc33721d54},
	{0xd1b71758e219652b, 0xd3c36113404ea4a9},
	{0x83126e978d4fdf3b, 0x645a1cac083126ea},
	{0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a4},
	{0xcccccccccccccccc, 0xcccccccccccccccd},
	{0x8000000000000000, 0x0000000000000000},
	{0xa000000000000000, 0x0000000000000000},
	{0xc800000000000000, 0x0000000000000000},
	{0xfa00000000000000, 0x0000000000000000},
	{0x9c40000000000000, 0x0000000000000000},
	{0xc350000000000000, 0x0000000000000000},
	{0xf424000000000000, 0x0000000000000000},
	{0x9896800000000000, 0x0000000000000000},
	{0xbebc200000000000, 0x0000000000000000},
	{0xee6b280000000000, 0x0000000000000000},
	{0x9502f90000000000, 0x0000000000000000},
	{0xba43b74000000000, 0x0000000000000000},
	{0xe8d4a51000000000, 0x0000000000000000},
	{0x9184e72a00000000, 0x0000000000000000},
	{0xb5e620f480000000, 0x0000000000000000},
	{0xe35fa931a0000000, 0x0000000000000000},
	{0x8e1bc9bf04000000, 0x0000000000000000},
	{0xb1a2bc2ec5000000, 0x0000000000000000},
	{0xde0b6b3a76400000, 0x0000000000000000},
	{0x8ac7230489e80000, 0x0000000000000000},
	{0xad78ebc5ac620000, 0x0000000000000000},
	{0xd8d726b7177a8000, 0x0000000000000000},
	{0x878678326eac9000, 0x0000000000000000},
	{0xa968163f0a57b400, 0x0000000000000000},
	{0xd3c21bcecceda100, 0x0000000000000000},
	{0x84595161401484a0, 0x0000000000000000},
	{0xa56fa5b99019a5c8, 0x0000000000000000},
	{0xcecb8f27f4200f3a, 0x0000000000000000},
};

/* D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51 (2021): the
 * product of the digits and the power of five has enough bits to round correctly; where it is not sure that
 * it has, the answer is no. */
bool decimal_to_double(uint64_t digits, int power_of_ten, double *ret_value)
{
	enum { KEPT_BITS = 52 + 3, EXPONENT_BIAS = 1023, HIDDEN_BIT = 52 };
	if (digits == 0 || power_of_ten < -POWER_MAX || power_of_ten > POWER_MAX)
		return false;
	int zeros = __builtin_clzll(digits), row = power_of_ten + POWER_MAX;
	digits <<= zeros;
	unsigned __int128 product = (unsigned __int128)digits * powers_of_five[row].high;
	const unsigned __int128 undecided = UINT64_MAX >> KEPT_BITS;
	if (((product >> 64) & undecided) == undecided)
		product += (uint64_t)(((unsigned __int128)digits * powers_of_five[row].low) >> 64);
	uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
	int top = (int)(high >> 63), shift = top + 64 - KEPT_BITS;
	uint64_t mantissa = high >> shift;
	/* floor(q log2(10)) + 63 */
	int exponent = ((217706 * power_of_ten) >> 16) + 63 + top - zeros + EXPONENT_BIAS;
	/* Exactly between two doubles: the even one. Only small powers can be so. */
	if (low <= 1 && power_of_ten >= -4 && power_of_ten <= 23 && (mantissa & 3) == 1 &&
		mantissa << shift == high)
		mantissa &= ~(uint64_t)1;
	mantissa = (mantissa + (mantissa & 1)) >> 1;
	if (mantissa >> (HIDDEN_BIT + 1)) {
		mantissa = (uint64_t)1 << HIDDEN_BIT;
		exponent++;
	}
	uint64_t bits = (uint64_t)exponent << HIDDEN_BIT | (mantissa & (((uint64_t)1 << HIDDEN_BIT) - 1));
	memcpy(ret_value, &bits, sizeof(bits));
	return true;
}
