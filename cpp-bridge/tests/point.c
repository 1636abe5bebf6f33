/* Two element types in C: Point, a pair of doubles whose zero bytes are its default, and Box,
 * which owns a heap cell. test_c_client.py uses them from NumPy. */
#include <denizen/denizen.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { double x, y; } point;
typedef struct { double *value; } box; /* NULL: vacant, reads as 0 */

static const denizen_api *api;
static const denizen_element *point_element, *box_element;
static long long boxes_built, boxes_gone, owners_released;
static long long allocations_left = -1; /* negative: no end */

/* ---- Point ---------------------------------------------------------------------------------- */

static denizen_status point_copy(void *context, uint8_t *to, ptrdiff_t to_stride,
                                 const uint8_t *from, ptrdiff_t from_stride, size_t count,
                                 denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (size_t index = 0; index < count; index++, to += to_stride, from += from_stride) {
        *(point *)to = *(const point *)from;
    }
    return DENIZEN_OK;
}

static denizen_status point_add(void *context, uint8_t *const *data, const ptrdiff_t *dimensions,
                                const ptrdiff_t *strides, denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (ptrdiff_t index = 0; index < dimensions[0]; index++) {
        const point *left = (const point *)(data[0] + index * strides[0]);
        const point *right = (const point *)(data[1] + index * strides[1]);
        const point sum = {left->x + right->x, left->y + right->y};
        *(point *)(data[2] + index * strides[2]) = sum;
    }
    return DENIZEN_OK;
}

static denizen_status point_from_double(void *context, uint8_t *const *data,
                                        const ptrdiff_t *dimensions, const ptrdiff_t *strides,
                                        denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (ptrdiff_t index = 0; index < dimensions[0]; index++) {
        double number; /* built-in types may be unaligned */
        memcpy(&number, data[0] + index * strides[0], sizeof number);
        *(point *)(data[1] + index * strides[1]) = (point){number, 0};
    }
    return DENIZEN_OK;
}

static denizen_status point_text(void *context, const uint8_t *cell, denizen_sink *sink,
                                 denizen_error *error_out)
{
    char text[64];
    const point *value = (const point *)cell;
    int size = snprintf(text, sizeof text, "(%g, %g)", value->x, value->y);
    (void)context, (void)error_out;
    return sink->write(sink, (const uint8_t *)text, (size_t)size);
}

static int register_point(PyObject *module)
{
    static const denizen_operand self = {.kind = DENIZEN_OPERAND_SELF};
    static const denizen_operand operands[] = {{.kind = DENIZEN_OPERAND_SELF},
                                               {.kind = DENIZEN_OPERAND_SELF},
                                               {.kind = DENIZEN_OPERAND_SELF}};
    const denizen_element_vtable vtable = {
        .struct_size = sizeof vtable,
        .abi_version = DENIZEN_ABI_VERSION,
        .flags = DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE | DENIZEN_ELEMENT_THREAD_SAFE,
        .name = "point.Point",
        .language_name = "struct point",
        .size = sizeof(point),
        .align = _Alignof(point),
        .zero_bytes = DENIZEN_ZERO_DEFAULT,
        .vacancy_size = sizeof(point),
        .copy_construct = point_copy,
        .assign = point_copy,
        .to_text = point_text,
    };
    const denizen_loop add = {.struct_size = sizeof add, .ufunc = "add", .operands = operands,
                              .input_count = 2, .output_count = 1, .function = point_add};
    const denizen_cast cast = {.struct_size = sizeof cast, .from = {.kind = DENIZEN_OPERAND_NUMPY,
                               .numpy_type = 12 /* NPY_DOUBLE */}, .to = self,
                               .level = DENIZEN_CAST_SAFE, .function = point_from_double};
    const denizen_element_spec spec = {
        .struct_size = sizeof spec,
        .vtable = &vtable,
        .loops = &add,
        .loop_count = 1,
        .casts = &cast,
        .cast_count = 1,
        .documentation = "A point of the plane.",
    };
    return api->register_element(&spec, module, &point_element);
}

/* ---- Box ------------------------------------------------------------------------------------ */

static double box_read(const uint8_t *cell)
{
    return denizen_is_vacant(cell, sizeof(box)) ? 0 : *((const box *)cell)->value;
}

/* Fills a cell that may be vacant; it is as it was where there is no memory. */
static denizen_status box_write(uint8_t *cell, double value, denizen_error *error_out)
{
    box *target = (box *)cell;
    if (target->value == NULL) {
        double *fresh = allocations_left == 0 ? NULL : malloc(sizeof *fresh);
        if (fresh == NULL) {
            return denizen_fail(error_out, DENIZEN_ERROR_MEMORY, "no memory for a box");
        }
        allocations_left -= allocations_left > 0;
        boxes_built++;
        target->value = fresh;
    }
    *target->value = value;
    return DENIZEN_OK;
}

static denizen_status box_construct(void *context, uint8_t *cells, ptrdiff_t stride, size_t count,
                                    denizen_error *error_out)
{
    (void)context;
    for (error_out->done = 0; error_out->done < count; error_out->done++, cells += stride) {
        ((box *)cells)->value = NULL; /* a vacant cell's bytes may be anything */
        if (box_write(cells, 0, error_out) != DENIZEN_OK) {
            return DENIZEN_FAILED;
        }
    }
    return DENIZEN_OK;
}

static denizen_status box_copy(void *context, uint8_t *to, ptrdiff_t to_stride,
                               const uint8_t *from, ptrdiff_t from_stride, size_t count,
                               denizen_error *error_out)
{
    (void)context;
    for (error_out->done = 0; error_out->done < count; error_out->done++) {
        ((box *)to)->value = NULL;
        if (box_write(to, box_read(from), error_out) != DENIZEN_OK) {
            return DENIZEN_FAILED;
        }
        to += to_stride, from += from_stride;
    }
    return DENIZEN_OK;
}

static denizen_status box_assign(void *context, uint8_t *to, ptrdiff_t to_stride,
                                 const uint8_t *from, ptrdiff_t from_stride, size_t count,
                                 denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (size_t index = 0; index < count; index++, to += to_stride, from += from_stride) {
        *((box *)to)->value = box_read(from);
    }
    return DENIZEN_OK;
}

static denizen_status box_destroy(void *context, uint8_t *cells, ptrdiff_t stride, size_t count,
                                  denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (size_t index = 0; index < count; index++, cells += stride) {
        free(((box *)cells)->value);
        boxes_gone++;
    }
    return DENIZEN_OK;
}

static denizen_status box_compare(void *context, const uint8_t *left, const uint8_t *right,
                                  int32_t *result, denizen_error *error_out)
{
    const double x = box_read(left), y = box_read(right);
    (void)context, (void)error_out;
    *result = (x > y) - (x < y);
    return DENIZEN_OK;
}

static denizen_status box_to_text(void *context, const uint8_t *cell, denizen_sink *sink,
                                  denizen_error *error_out)
{
    char text[40];
    int size = snprintf(text, sizeof text, "%.17g", box_read(cell));
    (void)context, (void)error_out;
    return sink->write(sink, (const uint8_t *)text, (size_t)size);
}

static denizen_status box_from_text(void *context, uint8_t *cell, const uint8_t *bytes,
                                    size_t size, denizen_error *error_out)
{
    char text[40] = "", *end;
    (void)context;
    memcpy(text, bytes, size < sizeof text ? size : 0);
    const double value = strtod(text, &end);
    if (end == text || (size_t)(end - text) != size) {
        return denizen_fail(error_out, DENIZEN_ERROR_VALUE, "not a number");
    }
    return box_write(cell, value, error_out);
}

static denizen_status box_add(void *context, uint8_t *const *data, const ptrdiff_t *dimensions,
                              const ptrdiff_t *strides, denizen_error *error_out)
{
    (void)context;
    for (ptrdiff_t index = 0; index < dimensions[0]; index++) {
        const double sum =
            box_read(data[0] + index * strides[0]) + box_read(data[1] + index * strides[1]);
        error_out->done = (size_t)index;
        if (box_write(data[2] + index * strides[2], sum, error_out) != DENIZEN_OK) {
            return DENIZEN_FAILED;
        }
    }
    return DENIZEN_OK;
}

static denizen_status box_from_int64(void *context, uint8_t *const *data,
                                     const ptrdiff_t *dimensions, const ptrdiff_t *strides,
                                     denizen_error *error_out)
{
    (void)context;
    for (ptrdiff_t index = 0; index < dimensions[0]; index++) {
        int64_t number;
        memcpy(&number, data[0] + index * strides[0], sizeof number);
        error_out->done = (size_t)index;
        if (box_write(data[1] + index * strides[1], (double)number, error_out) != DENIZEN_OK) {
            return DENIZEN_FAILED;
        }
    }
    return DENIZEN_OK;
}

static denizen_status box_to_double(void *context, uint8_t *const *data,
                                    const ptrdiff_t *dimensions, const ptrdiff_t *strides,
                                    denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (ptrdiff_t index = 0; index < dimensions[0]; index++) {
        const double number = box_read(data[0] + index * strides[0]);
        memcpy(data[1] + index * strides[1], &number, sizeof number);
    }
    return DENIZEN_OK;
}

static int register_box(PyObject *module)
{
    static const denizen_operand operands[] = {{.kind = DENIZEN_OPERAND_SELF},
                                               {.kind = DENIZEN_OPERAND_SELF},
                                               {.kind = DENIZEN_OPERAND_SELF}};
    const denizen_element_vtable vtable = {
        .struct_size = sizeof vtable,
        .abi_version = DENIZEN_ABI_VERSION,
        .flags = DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE,
        .name = "point.Box",
        .language_name = "struct box",
        .size = sizeof(box),
        .align = _Alignof(box),
        .zero_bytes = DENIZEN_ZERO_VACANT,
        .vacancy_size = sizeof(box),
        .construct = box_construct,
        .copy_construct = box_copy,
        .assign = box_assign,
        .destroy = box_destroy,
        .compare = box_compare,
        .to_text = box_to_text,
        .from_text = box_from_text,
    };
    const denizen_loop add = {.struct_size = sizeof add, .ufunc = "add", .operands = operands,
                              .input_count = 2, .output_count = 1, .function = box_add};
    const denizen_operand self = operands[0];
    const denizen_operand int64 = {.kind = DENIZEN_OPERAND_NUMPY, .numpy_type = 7 /* NPY_LONG */};
    const denizen_operand float64 = {.kind = DENIZEN_OPERAND_NUMPY, .numpy_type = 12};
    const denizen_cast casts[] = {
        {.struct_size = sizeof casts[0], .from = int64, .to = self, .level = DENIZEN_CAST_SAFE,
         .function = box_from_int64},
        {.struct_size = sizeof casts[0], .from = self, .to = float64, .level = DENIZEN_CAST_UNSAFE,
         .function = box_to_double},
    };
    const denizen_element_spec spec = {.struct_size = sizeof spec, .vtable = &vtable,
                                       .loops = &add, .loop_count = 1,
                                       .casts = casts, .cast_count = 2};
    return api->register_element(&spec, module, &box_element);
}

/* ---- functions of the module ---------------------------------------------------------------- */

/* Boxes built, gone; owners released. */
static PyObject *counters(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return Py_BuildValue("LLL", boxes_built, boxes_gone, owners_released);
}

/* After so many allocations there is no memory; a negative number: no end. */
static PyObject *limit_allocations(PyObject *module, PyObject *count)
{
    (void)module;
    allocations_left = PyLong_AsLongLong(count);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static void release(void *owner)
{
    free(owner);
    owners_released++;
}

/* Points (index, offset) in memory of this module, adopted by a read-only array. */
static PyObject *adopt_points(PyObject *module, PyObject *arguments)
{
    Py_ssize_t count, offset;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "nn", &count, &offset)) {
        return NULL;
    }
    uint8_t *memory = malloc((size_t)(count + 1) * sizeof(point));
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        const point value = {(double)index, (double)offset};
        memcpy(memory + offset + index * (Py_ssize_t)sizeof(point), &value, sizeof value);
    }
    return api->adopt(point_element, memory + offset, 1, &count, NULL, memory, release,
                      DENIZEN_ADOPT_READ_ONLY);
}

/* The sum over both coordinates of an array of points. */
static PyObject *sum_points(PyObject *module, PyObject *array)
{
    denizen_view view = {.struct_size = sizeof view};
    double sum = 0;
    (void)module;
    if (api->view(array, point_element, 0, &view) != DENIZEN_OK) {
        return NULL;
    }
    for (ptrdiff_t index = 0; view.dimension_count == 1 && index < view.shape[0]; index++) {
        const point *value = (const point *)(view.data + index * view.strides[0]);
        sum += value->x + value->y;
    }
    api->release_view(&view);
    return PyFloat_FromDouble(sum);
}

/* The runtime's figures for boxes: live, constructed, destroyed. */
static PyObject *box_stats(PyObject *module, PyObject *none)
{
    denizen_stats stats = {.struct_size = sizeof stats};
    (void)module, (void)none;
    if (api->stats(box_element, &stats) != DENIZEN_OK) {
        return NULL;
    }
    return Py_BuildValue("LKK", (long long)stats.live, (unsigned long long)stats.constructed,
                         (unsigned long long)stats.destroyed);
}

static PyMethodDef methods[] = {{"counters", counters, METH_NOARGS, NULL},
                                {"limit_allocations", limit_allocations, METH_O, NULL},
                                {"adopt_points", adopt_points, METH_VARARGS, NULL},
                                {"sum_points", sum_points, METH_O, NULL},
                                {"box_stats", box_stats, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {.m_name = "point", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_point(void)
{
    api = denizen_import();
    PyObject *module = api ? PyModule_Create(&definition) : NULL;
    if (module && (register_point(module) != DENIZEN_OK || register_box(module) != DENIZEN_OK)) {
        Py_CLEAR(module);
    }
    return module;
}
