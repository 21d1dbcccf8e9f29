#include "verification/values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace compatcheck::verification {
namespace {

constexpr double grain = 64;  // floats are multiples of 1 / grain
constexpr std::int64_t usual_end = 10, wide_end = 100;

double in_grains(double number) { return std::round(number * grain) / grain; }

bool one_in(std::int64_t count, std::mt19937_64& random) {
  return std::uniform_int_distribution<std::int64_t>(1, count)(random) == 1;
}

template <class T>
const T& one_of(const std::vector<T>& all, std::mt19937_64& random) {
  return all[std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(random)];
}

template <std::size_t N>
double one_of(const std::array<double, N>& all, std::mt19937_64& random) {
  return all[std::uniform_int_distribution<std::size_t>(0, N - 1)(random)];
}

double at_turn(const std::vector<double>& numbers, std::size_t turn) { return numbers[turn % numbers.size()]; }

bool is_of_constants(Way way) { return way == Way::near_constants || way == Way::on_constants; }

// Programs that compare with no constant compare with 0 in other forms, or with each other's values.
const std::vector<double>& or_zero(const std::vector<double>& numbers) {
  static const std::vector<double> zero = {0};
  return numbers.empty() ? zero : numbers;
}

// A constant, or how far one is from another: what a sum that starts at one lacks to the other.
double constant(const Decisions& decisions, std::mt19937_64& random) {
  const double number = one_of(or_zero(decisions.compared), random);
  return decisions.held.empty() || !one_in(4, random) ? number : number - one_of(decisions.held, random);
}

// Any number from a constant to the next one.
double between_constants(const Decisions& decisions, std::mt19937_64& random) {
  std::vector<double> sorted = or_zero(decisions.compared);
  std::ranges::sort(sorted);
  const std::size_t at = std::uniform_int_distribution<std::size_t>(0, sorted.size() - 1)(random);
  const double end = at + 1 < sorted.size() ? sorted[at + 1] : sorted[at] + 1;
  return std::uniform_real_distribution<double>(sorted[at], end)(random);
}

std::int64_t within(std::int64_t number, const IntegerRange& range) {
  if (!range.below) return std::max(number, range.least);
  const std::int64_t least = std::max<std::int64_t>(range.least, 0), width = std::max<std::int64_t>(*range.below - least, 1);
  return number >= least && number < *range.below ? number : least + ((number - least) % width + width) % width;
}

}  // namespace

std::int64_t integer_near(const Decisions& decisions, std::mt19937_64& random) {
  static constexpr std::array<double, 5> steps = {0, 0, 0, -1, 1};
  if (one_in(6, random)) return static_cast<std::int64_t>(between_constants(decisions, random));
  return static_cast<std::int64_t>(std::floor(constant(decisions, random)) + one_of(steps, random));
}

double floating_near(const Decisions& decisions, std::mt19937_64& random) {
  static constexpr std::array<double, 9> steps = {0, 0, 0, -1 / 16., 1 / 16., 1 / 16., -0.5, 0.5, 1};
  const double number = constant(decisions, random);
  // A number that isn't exact in f32 is equal to itself in some dtypes only.
  if (in_grains(number) == number) return number + one_of(steps, random);
  return in_grains(number) + (one_in(2, random) ? 1 / 16. : -1 / 16.);
}

std::int64_t whole_number_at(std::size_t turn, const Decisions& decisions) {
  static constexpr std::array<double, 3> steps = {0, 1, -1};
  const std::vector<double>& numbers = or_zero(decisions.compared);
  return static_cast<std::int64_t>(std::floor(at_turn(numbers, turn)) + steps[turn / numbers.size() % steps.size()]);
}

double floating_at(std::size_t turn, const Decisions& decisions) {
  static constexpr std::array<double, 3> steps = {0, 1 / 16., -1 / 16.};
  const std::vector<double>& numbers = or_zero(decisions.compared);
  const double number = at_turn(numbers, turn), step = steps[turn / numbers.size() % steps.size()];
  return in_grains(number) == number ? number + step : in_grains(number) + (step < 0 ? step : steps[1]);
}

std::vector<double> made_floats(Way way, std::int64_t count, const Decisions& decisions, std::size_t turn,
                                std::mt19937_64& random) {
  const double magnitude = std::abs(in_grains(at_turn(or_zero(decisions.compared), turn)));
  const double scale = one_in(2, random) ? 16 : 4;
  static constexpr std::array<double, 8> few = {-2, -1, -0.5, 0, 0, 0.5, 1, 2};
  std::normal_distribution<double> normal;
  std::vector<double> made(static_cast<std::size_t>(count));
  for (double& number : made) switch (way) {
      case Way::usual: number = normal(random); break;
      case Way::near_constants: number = one_in(3, random) ? in_grains(normal(random)) : floating_near(decisions, random); break;
      case Way::on_constants:
        number = one_in(3, random) ? in_grains(between_constants(decisions, random)) : in_grains(constant(decisions, random));
        break;
      case Way::up_to_constant:
        number = (one_in(2, random) ? 1 : -1) *
                 (one_in(3, random) ? magnitude : in_grains(magnitude * std::uniform_real_distribution<double>(0, 1)(random)));
        break;
      case Way::repeated: number = one_of(few, random); break;
      case Way::rising:
      case Way::falling: number = in_grains(2 * normal(random)); break;
      case Way::wide: number = in_grains(one_in(2, random) ? 8 * normal(random) : normal(random)); break;
      case Way::small: number = in_grains(normal(random) / scale); break;
      case Way::distinct: break;
    }
  if (count == 1 && is_of_constants(way)) made = {floating_at(turn, decisions)};
  if (way == Way::rising) std::ranges::sort(made);
  if (way == Way::falling) std::ranges::sort(made, std::greater());
  if (way == Way::distinct) {
    std::iota(made.begin(), made.end(), -static_cast<double>(count / 2));
    for (double& number : made) number = (number + 0.25) / 4;
    std::ranges::shuffle(made, random);
  }
  return made;
}

std::vector<std::int64_t> made_integers(Way way, std::int64_t count, const IntegerRange& range, const Decisions& decisions,
                                        std::size_t turn, std::mt19937_64& random) {
  const auto magnitude = static_cast<std::int64_t>(std::abs(at_turn(or_zero(decisions.compared), turn)));
  const auto between = [&](std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random);
  };
  const std::int64_t end = range.below.value_or(usual_end);
  std::vector<std::int64_t> made(static_cast<std::size_t>(count));
  for (std::int64_t& number : made) switch (way) {
      case Way::near_constants: number = one_in(4, random) ? between(-2, usual_end) : integer_near(decisions, random); break;
      case Way::on_constants:
        number = static_cast<std::int64_t>(
            std::floor(one_in(3, random) ? between_constants(decisions, random) : one_of(or_zero(decisions.compared), random)));
        break;
      case Way::up_to_constant: number = one_in(3, random) ? magnitude : between(-magnitude, magnitude); break;
      case Way::repeated: number = between(0, 2); break;
      case Way::rising:
      case Way::falling: number = between(0, end); break;
      case Way::wide: number = one_in(3, random) ? integer_near(decisions, random) : between(-wide_end / 2, wide_end); break;
      case Way::small: number = between(-1, 1); break;
      case Way::usual:
      case Way::distinct: number = between(0, end - 1); break;
    }
  if (way == Way::distinct && (!range.below || *range.below - range.least >= count)) {
    std::iota(made.begin(), made.end(), range.least);
    std::ranges::shuffle(made, random);
  }
  if (count == 1 && is_of_constants(way)) made = {whole_number_at(turn, decisions)};
  for (std::int64_t& number : made) number = within(number, range);
  if (way == Way::rising) std::ranges::sort(made);
  if (way == Way::falling) std::ranges::sort(made, std::greater());
  return made;
}

std::vector<std::int64_t> permutations(std::int64_t count, std::int64_t row, std::mt19937_64& random) {
  std::vector<std::int64_t> made(static_cast<std::size_t>(count));
  for (std::int64_t at = 0; row > 0 && at < count; at += row) {
    const auto begin = made.begin() + at, end = made.begin() + std::min(at + row, count);
    std::iota(begin, end, 0);
    std::shuffle(begin, end, random);
  }
  return made;
}

}  // namespace compatcheck::verification
