/*
 * A lifecheck uses no Python. The header of the element types names functions of Python that it
 * never calls then; weak, they may be missing when the program is linked, and mean Python's own
 * where it is linked.
 */
#ifndef DENIZEN_TESTING_WITHOUT_PYTHON_HPP
#define DENIZEN_TESTING_WITHOUT_PYTHON_HPP

#include <denizen/denizen.h>

#pragma weak PyCapsule_Import
#pragma weak PyErr_Clear
#pragma weak PyErr_ExceptionMatches
#pragma weak PyErr_Fetch
#pragma weak PyErr_Format
#pragma weak PyErr_GivenExceptionMatches
#pragma weak PyErr_NormalizeException
#pragma weak PyErr_Occurred
#pragma weak PyErr_Restore
#pragma weak PyErr_SetObject
#pragma weak PyErr_SetString
#pragma weak PyErr_WriteUnraisable
#pragma weak PyExc_ImportError
#pragma weak PyExc_IndexError
#pragma weak PyExc_LookupError
#pragma weak PyExc_MemoryError
#pragma weak PyExc_ModuleNotFoundError
#pragma weak PyExc_NotImplementedError
#pragma weak PyExc_OverflowError
#pragma weak PyExc_RuntimeError
#pragma weak PyExc_SystemError
#pragma weak PyExc_TypeError
#pragma weak PyExc_ValueError
#pragma weak PyExc_ZeroDivisionError
#pragma weak PyException_SetTraceback
#pragma weak PyGILState_Check
#pragma weak PyImport_ImportModule
#pragma weak PyLong_AsSsize_t
#pragma weak PyModule_GetName
#pragma weak PyObject_GetAttrString
#pragma weak PyObject_GetItem
#pragma weak PyObject_IsInstance
#pragma weak PyObject_SetItem
#pragma weak PyObject_Str
#pragma weak PyTuple_GetItem
#pragma weak PyTuple_New
#pragma weak PyTuple_Size
#pragma weak PyUnicode_AsUTF8
#pragma weak PyUnicode_AsUTF8AndSize
#pragma weak PyUnicode_CompareWithASCIIString
#pragma weak PyUnicode_DecodeUTF8
#pragma weak _Py_Dealloc
#if PY_VERSION_HEX >= 0x030c0000
#pragma weak PyErr_GetRaisedException
#pragma weak PyErr_SetRaisedException
#endif
#ifdef Py_REF_DEBUG
#pragma weak _Py_NegativeRefcount
#endif

#endif
