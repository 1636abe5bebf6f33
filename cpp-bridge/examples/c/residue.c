/* An element type in plain C: integers modulo 97, with a sum. */
#include <denizen/denizen.h>
#include <stdio.h>
static denizen_status copy(void *context, uint8_t *to, ptrdiff_t to_stride, const uint8_t *from,
                           ptrdiff_t from_stride, size_t count, denizen_error *error_out)
{
    for (; count > 0; count--, to += to_stride, from += from_stride) *to = *from;
    return (void)context, (void)error_out, DENIZEN_OK;
}
static denizen_status add(void *context, uint8_t *const *data, const ptrdiff_t *dimensions,
                          const ptrdiff_t *strides, denizen_error *error_out)
{
    for (ptrdiff_t i = 0; i < dimensions[0]; i++)
        data[2][i * strides[2]] = (data[0][i * strides[0]] + data[1][i * strides[1]]) % 97;
    return (void)context, (void)error_out, DENIZEN_OK;
}
static denizen_status text(void *context, const uint8_t *cell, denizen_sink *sink,
                           denizen_error *error_out)
{
    char digits[8];
    const size_t size = (size_t)snprintf(digits, sizeof digits, "%d", *cell);
    return (void)context, (void)error_out, sink->write(sink, (uint8_t *)digits, size);
}
PyMODINIT_FUNC PyInit_residue(void)
{
    static struct PyModuleDef definition = {.m_name = "residue", .m_size = -1};
    const denizen_element_vtable vtable = {
        .struct_size = sizeof vtable, .abi_version = DENIZEN_ABI_VERSION, .name = "residue.Residue",
        .size = 1, .align = 1, .zero_bytes = DENIZEN_ZERO_DEFAULT, .vacancy_size = 1,
        .flags = DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE | DENIZEN_ELEMENT_THREAD_SAFE,
        .copy_construct = copy, .assign = copy, .to_text = text};
    const denizen_loop loop = {sizeof loop, "add", (denizen_operand[3]){{0}}, 2, 1, add, NULL, 0};
    const denizen_element_spec spec = {.struct_size = sizeof spec, .vtable = &vtable,
                                       .loops = &loop, .loop_count = 1};
    const denizen_api *api = denizen_import();
    const denizen_element *type;
    PyObject *module = api ? PyModule_Create(&definition) : NULL;
    if (module && api->register_element(&spec, module, &type) != DENIZEN_OK) Py_CLEAR(module);
    return module;
}
