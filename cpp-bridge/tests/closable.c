/* A plain library, no extension module: a type whose functions and contexts are its own, for
 * test_registration.py, which registers it and closes the library while arrays live. */
#include <denizen/denizen.h>
#include <stdlib.h>

/* A heap cell; NULL: vacant, reads as 0. */
typedef struct { long *value; } box;

static long long live;
/* What the functions are handed: its address is the context. */
static long step = 1;

static denizen_status write_box(uint8_t *cell, long value, denizen_error *error_out)
{
    box *target = (box *)cell;
    if (target->value == NULL) {
        target->value = malloc(sizeof *target->value);
        if (target->value == NULL) {
            return denizen_fail(error_out, DENIZEN_ERROR_MEMORY, "no memory for a box");
        }
        live++;
    }
    *target->value = value;
    return DENIZEN_OK;
}

static long read_box(const uint8_t *cell)
{
    const long *value = ((const box *)cell)->value;
    return value == NULL ? 0 : *value;
}

static denizen_status copy(void *context, uint8_t *to, ptrdiff_t to_stride, const uint8_t *from,
                           ptrdiff_t from_stride, size_t count, denizen_error *error_out)
{
    (void)context;
    for (error_out->done = 0; error_out->done < count; error_out->done++) {
        ((box *)to)->value = NULL;
        if (write_box(to, read_box(from), error_out) != DENIZEN_OK) {
            return DENIZEN_FAILED;
        }
        to += to_stride, from += from_stride;
    }
    return DENIZEN_OK;
}

static denizen_status destroy(void *context, uint8_t *cells, ptrdiff_t stride, size_t count,
                              denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (size_t index = 0; index < count; index++, cells += stride) {
        free(((box *)cells)->value);
        live--;
    }
    return DENIZEN_OK;
}

static denizen_status next(void *context, uint8_t *const *data, const ptrdiff_t *dimensions,
                           const ptrdiff_t *strides, denizen_error *error_out)
{
    for (ptrdiff_t index = 0; index < dimensions[0]; index++) {
        const long value = read_box(data[0] + index * strides[0]) + *(const long *)context;
        if (write_box(data[1] + index * strides[1], value, error_out) != DENIZEN_OK) {
            error_out->done = (size_t)index;
            return DENIZEN_FAILED;
        }
    }
    return DENIZEN_OK;
}

static denizen_status to_long(void *context, uint8_t *const *data, const ptrdiff_t *dimensions,
                              const ptrdiff_t *strides, denizen_error *error_out)
{
    (void)context, (void)error_out;
    for (ptrdiff_t index = 0; index < dimensions[0]; index++) {
        const long value = read_box(data[0] + index * strides[0]);
        memcpy(data[1] + index * strides[1], &value, sizeof value);
    }
    return DENIZEN_OK;
}

static const denizen_operand operands[2]; /* the type itself, twice */
static denizen_element_vtable vtable = {
    .struct_size = sizeof vtable,
    .abi_version = DENIZEN_ABI_VERSION,
    .flags = DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE,
    .name = "closable.Box",
    .size = sizeof(box),
    .align = _Alignof(box),
    .storage = DENIZEN_STORAGE_INLINE,
    .zero_bytes = DENIZEN_ZERO_VACANT,
    .vacancy_size = sizeof(box),
    .context = &step,
    .copy_construct = copy,
    .destroy = destroy,
};
static const denizen_loop loop = {.struct_size = sizeof loop, .ufunc = "positive",
                                  .operands = operands, .input_count = 1, .output_count = 1,
                                  .function = next, .context = &step};
static const denizen_cast cast = {.struct_size = sizeof cast,
                                  .to = {.kind = DENIZEN_OPERAND_NUMPY, .numpy_type = 7 /* NPY_LONG */},
                                  .level = DENIZEN_CAST_SAFE, .function = to_long};
static const denizen_element_spec spec = {.struct_size = sizeof spec, .vtable = &vtable,
                                          .loops = &loop, .loop_count = 1, .casts = &cast,
                                          .cast_count = 1};

const denizen_element_spec *closable_spec(void)
{
    return &spec;
}

/* For a type of which nothing but the memory and the release function is this library's. */
static long lent[4] = {1, 2, 3, 4};

void *closable_memory(void)
{
    return lent;
}

void closable_release(void *counter)
{
    ++*(long *)counter;
}

long long closable_live(void)
{
    return live;
}

/* A memory handler (NEP 49). */
static void *handler_malloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *handler_calloc(void *context, size_t count, size_t size)
{
    (void)context;
    return calloc(count, size);
}

static void *handler_realloc(void *context, void *pointer, size_t size)
{
    (void)context;
    return realloc(pointer, size);
}

static void handler_free(void *context, void *pointer, size_t size)
{
    (void)context, (void)size;
    free(pointer);
}

/* NumPy's PyDataMem_Handler. */
static struct {
    char name[127];
    uint8_t version;
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *, size_t);
} handler = {"closable",      1,           NULL, handler_malloc, handler_calloc,
             handler_realloc, handler_free};

void *closable_handler(void)
{
    return &handler;
}
