// A rotation in space: the C++ class that two modules share, and what it promises about its bytes.
#ifndef ROTATION_HPP
#define ROTATION_HPP

#include <denizen/denizen.hpp>

#include <array>
#include <cmath>
#include <stdexcept>

using vector3 = std::array<double, 3>;

/// A rotation, as a unit quaternion. By default that of nothing.
class rotation {
public:
    rotation() = default;
    /// By an angle in radians, anticlockwise around an axis of any length but 0.
    rotation(const vector3 &axis, double angle)
    {
        const double length = std::hypot(axis[0], axis[1], axis[2]);
        if (!(length > 0 && std::isfinite(length) && std::isfinite(angle))) {
            throw std::invalid_argument("an axis has a direction, and an angle is finite");
        }
        const double scale = std::sin(angle / 2) / length;
        w_ = std::cos(angle / 2);
        x_ = scale * axis[0];
        y_ = scale * axis[1];
        z_ = scale * axis[2];
    }

    /// The angle in radians, 0 to pi.
    double angle() const
    {
        return 2 * std::atan2(std::hypot(x_, y_, z_), std::fabs(w_));
    }
    rotation inverse() const { return {w_, -x_, -y_, -z_}; }

    /// First `b`, then `a`.
    friend rotation operator*(const rotation &a, const rotation &b)
    {
        return {a.w_ * b.w_ - a.x_ * b.x_ - a.y_ * b.y_ - a.z_ * b.z_,
                a.w_ * b.x_ + a.x_ * b.w_ + a.y_ * b.z_ - a.z_ * b.y_,
                a.w_ * b.y_ - a.x_ * b.z_ + a.y_ * b.w_ + a.z_ * b.x_,
                a.w_ * b.z_ + a.x_ * b.y_ - a.y_ * b.x_ + a.z_ * b.w_};
    }

    vector3 operator()(const vector3 &v) const
    {
        // v + 2 w (q x v) + 2 q x (q x v), q being the vector part.
        const vector3 q{x_, y_, z_}, t = cross(q, v), u = cross(q, t);
        return {v[0] + 2 * (w_ * t[0] + u[0]), v[1] + 2 * (w_ * t[1] + u[1]),
                v[2] + 2 * (w_ * t[2] + u[2])};
    }

private:
    rotation(double w, double x, double y, double z)
    {
        // Products of many would drift off the unit sphere.
        const double length = std::sqrt(w * w + x * x + y * y + z * z);
        w_ = w / length;
        x_ = x / length;
        y_ = y / length;
        z_ = z / length;
    }
    static vector3 cross(const vector3 &a, const vector3 &b)
    {
        return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    }

    double w_ = 1, x_ = 0, y_ = 0, z_ = 0;
};

// Four numbers are trivially copyable. A unit quaternion is never all zero, so zero bytes say that
// no rotation is there yet; such an element reads as the default, a rotation by nothing.
template <>
struct denizen::zero_bytes<rotation>
    : std::integral_constant<denizen::zero, denizen::zero::vacant> {};

#endif
