/* A point in the plane that counts itself: what the pointers of this example point to. */
#ifndef DENIZEN_EXAMPLE_POINT_HPP
#define DENIZEN_EXAMPLE_POINT_HPP

struct Point {
    double x = 0, y = 0;

    Point(double x_, double y_) : x(x_), y(y_) { ++live; }
    Point(const Point &) = delete;
    Point &operator=(const Point &) = delete;
    ~Point() { --live; }

    /** How many there are. Changed with the GIL held only: no type here is thread_safe(). */
    inline static long live = 0;
};

#endif
