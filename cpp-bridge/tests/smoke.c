/* The smallest client: arrays of a type that somebody else registered. It needs only the first
 * members of the table, so that it works with a runtime that has no others. */
#include <denizen/denizen.h>

static const denizen_api *api;

static PyObject *zeros(PyObject *module, PyObject *name)
{
    const ptrdiff_t shape[] = {2, 3};
    const char *text = PyUnicode_AsUTF8(name);
    const denizen_element *element = text ? api->find_element(text, 8, 8, NULL) : NULL;
    (void)module;
    return element ? api->empty(element, 2, shape) : NULL;
}

static PyMethodDef methods[] = {{"zeros", zeros, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {.m_name = "smoke", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_smoke(void)
{
    api = denizen_import_sized(DENIZEN_API_SIZE_WITH(empty));
    return api ? PyModule_Create(&definition) : NULL;
}
