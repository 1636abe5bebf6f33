/* A client with a bug: it writes cells that its view does not have. */
#include <denizen/denizen.h>
#include <string.h>

static const denizen_api *api;

/* overwrite(array of Integer, first, bytes): writes `bytes` from byte `first` of the view on, whether or not
 * anything of the array is there. */
static PyObject *overwrite(PyObject *module, PyObject *arguments)
{
    PyObject *array;
    Py_ssize_t first;
    Py_buffer bytes;
    denizen_view view = {.struct_size = sizeof view};
    const denizen_element *integer = api->find_element("denizen.Integer", 8, 8, NULL);
    (void)module;
    if (!integer)
        return NULL;
    if (!PyArg_ParseTuple(arguments, "Ony*", &array, &first, &bytes))
        return NULL;
    if (api->view(array, integer, DENIZEN_VIEW_WRITE | DENIZEN_VIEW_KEEP_VACANT, &view) !=
        DENIZEN_OK) {
        PyBuffer_Release(&bytes);
        return NULL;
    }
    memcpy(view.data + first, bytes.buf, (size_t)bytes.len);
    api->release_view(&view);
    PyBuffer_Release(&bytes);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"overwrite", overwrite, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {.m_name = "overrun", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_overrun(void)
{
    api = denizen_import();
    return api ? PyModule_Create(&definition) : NULL;
}
